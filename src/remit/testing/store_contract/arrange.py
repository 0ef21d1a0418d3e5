"""Short ways to bring a store into the state that a law is about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
    Stopped,
)
from remit.testing.clock import ManualClock
from remit.values import ids
from remit.values.results import Status

PROGRAM = "greeter@1"
LASTS = 20.0

Handles = Callable[[], Store]
"""Gives one more handle on the same runs, not yet opened, as another process would have it."""


@asynccontextmanager
async def opened(store: Store) -> AsyncIterator[Store]:
    """The store while it is open."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()


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


async def claim(store: Store, run: str, worker: str = "w1", *, program: str = PROGRAM) -> Claim:
    """The claim on a queued run by a worker, which is made known if it is not."""
    await join(store, worker)
    claims = await store.claim(worker, [program], format=1, run=run)
    assert [claim.run for claim in claims] == [run]
    return claims[0]


async def held(store: Store, id: str | None = None, worker: str = "w1", **fields: Any) -> Claim:
    """The claim on a run that was just made."""
    run = await queued(store, id, **fields)
    return await claim(store, run, worker, program=fields.get("program", PROGRAM))


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
    await pause(store, had, *keys)
    return had


async def pause(store: Store, had: Claim, *keys: str, **fields: Any) -> None:
    """Let the holder pause its run for `keys`, right after the claim unless `seq` tells more."""
    told = {"seen": had.inbox, **fields}
    assert isinstance(await write(store, item(had, status="paused", asks=keys, **told)), Appended)


async def finish(store: Store, had: Claim, **fields: Any) -> None:
    """Let the holder end its run."""
    told = {"status": "succeeded", "seen": had.inbox, **fields}
    assert isinstance(await write(store, item(had, **told)), Appended)


async def lose(store: Store, clock: ManualClock) -> None:
    """Let the lease of every worker end, and others have what they held."""
    clock.advance(LASTS)
    await store.sweep()


async def due(store: Store, *programs: str, room: int = 50) -> list[str]:
    """The runs that may be claimed, in the order in which they are; they are held from now on
    by a worker of their own."""
    worker = ids.new("worker")
    await join(store, worker)
    claims = await store.claim(worker, programs or [PROGRAM], format=1, room=room)
    return [claim.run for claim in claims]


def now(clock: ManualClock) -> int:
    """The wall time in microseconds."""
    return round(clock.wall() * 1e6)


async def ended(store: Store, id: str | None = None, **fields: Any) -> str:
    """The id of a run that was made, claimed and ended."""
    had = await held(store, id, **fields)
    await finish(store, had)
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
