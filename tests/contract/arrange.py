"""Short ways to bring a store into the state that a law is about."""

from __future__ import annotations

from typing import Any

from remit.store.protocol import Store
from remit.store.records import (
    Append,
    Appended,
    Claim,
    Created,
    Fenced,
    NewRun,
    News,
    RunRow,
    Status,
    Stopped,
)
from remit.values import ids

PROGRAM = "greeter@1"
LASTS = 20.0


def a_run(id: str | None = None, **fields: Any) -> NewRun:
    """A run to be made, of the usual program unless told."""
    usual = {"program": PROGRAM, "body": b"asked", "format": 1}
    return NewRun(id=id or ids.new("run"), **{**usual, **fields})


async def queued(store: Store, id: str | None = None, **fields: Any) -> str:
    """The id of a run that was just made."""
    new = a_run(id, **fields)
    assert await store.create(new) == Created()
    return new.id


async def join(store: Store, *workers: str) -> None:
    for worker in workers:
        assert await store.beat(worker, LASTS, join=True) is not None


async def claim(store: Store, run: str, worker: str = "w1") -> Claim:
    """The claim on a queued run by a worker, which is made known if it is not."""
    await join(store, worker)
    claims = await store.claim(worker, [PROGRAM], format=1, run=run)
    assert [claim.run for claim in claims] == [run]
    return claims[0]


async def held(store: Store, id: str | None = None, worker: str = "w1", **fields: Any) -> Claim:
    """The claim on a run that was just made."""
    return await claim(store, await queued(store, id, **fields), worker)


def item(held: Claim, *bodies: bytes, **fields: Any) -> Append:
    """What the holder writes next, right after the claim unless `seq` tells more."""
    usual = {"run": held.run, "token": held.token, "seq": held.seq, "format": 1}
    return Append(entries=bodies or (b"fact",), **{**usual, **fields})


async def write(store: Store, append: Append) -> Appended | Fenced | News:
    (outcome,) = await store.append([append])
    return outcome


async def paused(store: Store, *keys: str, id: str | None = None, **fields: Any) -> Claim:
    """The claim under which a run was paused; it waits for `keys`."""
    had = await held(store, id, **fields)
    pause = item(had, status="paused", seen=had.inbox, asks=keys)
    assert isinstance(await write(store, pause), Appended)
    return had


async def ended(store: Store, id: str | None = None, **fields: Any) -> str:
    """The id of a run that was made, claimed and ended."""
    had = await held(store, id, **fields)
    assert isinstance(await write(store, item(had, status="succeeded")), Appended)
    return had.run


async def cancelled(store: Store, run: str) -> None:
    assert isinstance(await store.cancel(run, b"end", 1, b"stop"), Stopped)


async def row(store: Store, run: str) -> RunRow:
    found = await store.get(run)
    assert found is not None
    return found


async def status(store: Store, run: str) -> Status:
    return (await row(store, run)).status


async def bodies(store: Store, run: str) -> list[bytes]:
    return [entry.body for entry in await store.read(run)]
