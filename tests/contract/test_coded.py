"""A store whose bodies are encoded: what is at rest, what was there before, and wrong keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from remit.errors import StoreError
from remit.store.coded import CodedStore
from remit.store.connect import connect, upkeep
from remit.store.money import Ceiling, Charge, Hold, Meter, Settlement
from remit.store.payload import Chain, Compressed, Encrypted
from remit.store.protocol import Store
from remit.store.records import Append, NewRun, Query, Refusal, Undelivered
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Call, Item, Say
from remit.testing.store_contract import Handles, StoreContract
from tests.fixtures_store import KINDS, Kind, opened, slowly
from tests.journeys.clerk import STAFF, Desk, app_of, clerk, ended, paused, soon

KEY, OTHER = Fernet.generate_key(), Fernet.generate_key()
SECRET = b'{"t":"asked","secret":"xyzzy"}'
PAY: list[Item] = [Call("pay_out", amount=150), Say("done")]


def locked(store: Store, *keys: bytes) -> CodedStore:
    return CodedStore(store, Chain(Compressed(), Encrypted(keys or [KEY])))


class Noting:
    """A store in between that keeps all that reaches it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.seen: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            self.seen.append((args, options))
            return found(*args, **options)

        return call


async def test_no_body_reaches_the_store_as_it_is(store: Store) -> None:
    noting: Any = Noting(store)
    coded = locked(noting)
    await coded.create(NewRun(id="r", program="p@1", body=SECRET, format=1))
    await coded.create(NewRun(id="q", program="p@1", body=SECRET, format=1))
    await coded.beat("w", 20.0, join=True)
    (claim,) = await coded.claim("w", ["p@1"], format=1, run="r")
    charge = Charge(model="m", purpose="turn", body=SECRET)
    ceiling = Ceiling(Meter(key="k", slots=1, width=86_400_000_000), 100)
    item = Append(
        run="r",
        token=claim.token,
        seq=1,
        entries=(SECRET,),
        format=1,
        settles=(
            Settlement(name="a", nano=1, charge=charge),
            Settlement(name="b", nano=0, charge=None),
        ),
        holds=(Hold(name="c", nano=1, ceilings=(ceiling,), charge=charge),),
    )
    await coded.append([item])
    await coded.append(
        [
            Append(
                run="r",
                token=claim.token,
                seq=2,
                entries=(SECRET,),
                format=1,
                status="paused",
                asks=("key", "other"),
            )
        ]
    )
    await coded.deliver("r", {"key": SECRET}, "id")
    await coded.send("r", SECRET, "message")
    await coded.cancel("q", SECRET, 1, SECRET)
    assert b"xyzzy" not in repr(noting.seen).encode()
    assert [entry.body for entry in await coded.read("r")] == [SECRET] * 3
    assert [entry.format for entry in await coded.read("r")] == [1] * 3
    assert [entry.body for entry in await coded.read("q")] == [SECRET] * 2
    signals = await coded.signals("r")
    assert [signal.answer for signal in signals] == [SECRET, SECRET, None]
    again = await coded.deliver("r", {"key": b"no"}, "id2")
    assert isinstance(again, Undelivered)
    assert again.answered == {"key": SECRET}


async def test_runs_from_before_the_codec_go_on_with_it(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    async with app_of(clerk(PAY[:1], desk.tools()), store, clock) as app:
        run = await paused(app, thread="t_1", user="u_1")
    async with app_of(clerk(PAY[1:], desk.tools()), locked(store), clock) as app:
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        assert (await ended(app, run.id)).text == "done"
    first, *_, last = await store.read(run.id)
    assert first.body.startswith(b"{")
    assert last.body.startswith(b"\x00")


async def test_a_process_without_the_codec_leaves_the_runs_alone(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([]), locked(store), clock, work=False) as app:
        run = await app.start("clerk", "x")
    async with app_of(clerk([Say("plain")]), store, clock) as app:
        other = await app.start("clerk", "y")
        assert (await ended(app, other)).text == "plain"
        row = await store.get(run)
    assert row is not None
    assert (row.status, row.token) == ("queued", 0)
    async with app_of(clerk([Say("coded")]), locked(store), clock) as app:
        assert (await ended(app, run)).text == "coded"


async def test_a_wrong_key_says_the_mend_and_the_run_goes_on_with_the_right_one(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([]), locked(store), clock, work=False) as app:
        run = await app.start("clerk", "x")
    dying = CrashStore(locked(store, OTHER), at=None)
    async with app_of(clerk([]), dying, clock) as app:
        with pytest.raises(StoreError, match="behind the newest one"):
            await soon(app.get(run))
    row = await store.get(run)
    assert row is not None
    assert row.status in ("queued", "running")
    clock.advance(60)
    async with app_of(clerk([Say("done")]), locked(store, OTHER, KEY), clock) as app:
        assert (await ended(app, run)).text == "done"


async def test_a_codec_that_is_missing_is_named(store: Store) -> None:
    await locked(store).create(NewRun(id="r", program="p@1", body=SECRET, format=1))
    await CodedStore(store, Compressed()).create(
        NewRun(id="q", program="p@1", body=SECRET, format=1)
    )
    with pytest.raises(StoreError, match=r"set Encrypted\(keys\)"):
        await CodedStore(store, Compressed()).read("r")
    with pytest.raises(StoreError, match=r"set Compressed\(\)"):
        await CodedStore(store, Encrypted(KEY)).read("r")
    assert [entry.body for entry in await locked(store).read("q")] == [SECRET]


async def test_every_handle_with_the_key_reads_the_same(handles: Handles) -> None:
    async with opened(locked(handles())) as one, opened(locked(handles(), OTHER, KEY)) as other:
        await one.create(NewRun(id="r", program="p@1", body=SECRET, format=1))
        assert [entry.body for entry in await other.read("r")] == [SECRET]


def test_a_database_is_looked_after_as_without_the_codec(clock: ManualClock) -> None:
    for address in ("sqlite:///runs.db", "memory:"):
        plain = connect(address, clock)
        assert type(upkeep(locked(plain))) is type(upkeep(plain))


@pytest.fixture
def payload() -> Chain:
    return Chain(Compressed(), Encrypted(Fernet.generate_key()))


class TestCodedStores(StoreContract):
    """Every law, on every store behind a codec."""

    @pytest.fixture(params=[KINDS[0], *(slowly(kind) for kind in KINDS[1:])])
    def handles(
        self,
        request: pytest.FixtureRequest,
        tmp_path: Path,
        clock: ManualClock,
        payload: Chain,
    ) -> Iterator[Handles]:
        kind: Kind = request.param
        with kind(tmp_path, clock) as made:
            yield lambda: CodedStore(made(), payload)


async def test_why_a_run_was_refused_is_no_secret_told(store: Store) -> None:
    """A reason may quote what the run holds."""
    coded, reason = locked(store), "at entry 2 'Ask Jane Doe' is recorded \ud83d"
    await coded.create(NewRun(id="r", program="p@1", body=SECRET, format=1))
    await coded.beat("w", 20.0, join=True)
    (claim,) = await coded.claim("w", ["p@1"], format=1)
    await coded.release("w", "r", claim.token, refusal=Refusal("blue", reason))

    row, at_rest = await coded.get("r"), await store.get("r")
    assert row is not None
    assert at_rest is not None
    assert row.refused == reason
    assert "Jane" not in str(at_rest.refused)
    assert [found.refused for found in await coded.find(Query())] == [reason]
