"""Laws of an effect that PostgreSQL commits with its record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from remit.store.money import Ceiling, Charge, Granted, Hold, Meter, Settlement
from remit.store.postgres import PostgresStore
from remit.store.records import Append, Appended, Claim, Fenced, News
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import LASTS, bodies, claim, held, item, status, write
from remit.values.errors import EffectError, StoreError
from tests.fixtures_postgres import Place
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

Connection = psycopg.AsyncConnection[Any]
CHARGE = Charge(model="m", purpose="turn", body=b"")


@pytest.fixture
async def store(place: Place, clock: ManualClock) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(place.address, clock, schema=place.schema)
    async with opened(store):
        place.execute("CREATE TABLE effects(what text)")
        yield store


def nothing(had: Claim, **fields: Any) -> Append:
    """What the holder writes, beside what the work gives."""
    return Append(run=had.run, token=had.token, seq=had.seq, entries=(), format=1, **fields)


class Work:
    """Writes one row into a table of the user's own; then does what the test wants to see."""

    def __init__(self, place: Place, *then: str | BaseException) -> None:
        self.place, self.then = place, then
        self.calls = 0

    async def __call__(self, db: Connection) -> Sequence[bytes]:
        self.calls += 1
        await db.execute(f"INSERT INTO {self.place.schema}.effects VALUES ('done')".encode())
        for one in self.then:
            if isinstance(one, BaseException):
                raise one
            await db.execute(one.encode())
        return [b"one", b"two"]

    @property
    def done(self) -> int:
        """How many of its effects are committed."""
        ((count,),) = self.place.execute("SELECT count(*) FROM effects")
        return int(count)


async def test_an_effect_and_its_record_are_one_commit(place: Place, store: PostgresStore) -> None:
    had, work = await held(store), Work(place)

    assert await store.transact(nothing(had), work) == Appended(3, 0)

    assert await bodies(store, had.run) == [b"asked", b"one", b"two"]
    assert work.done == 1


async def test_what_the_work_raises_is_raised_and_nothing_stays(
    place: Place, store: PostgresStore
) -> None:
    had = await held(store)
    for error in (KeyError("k"), psycopg.errors.UniqueViolation("theirs"), SystemExit(3)):
        work = Work(place, error)
        with pytest.raises(type(error)) as raised:
            await store.transact(nothing(had), work)
        assert raised.value is error
        assert work.done == 0

    assert await bodies(store, had.run) == [b"asked"]
    assert await store.transact(nothing(had), Work(place)) == Appended(3, 0)


async def test_a_lost_fence_calls_no_work(
    place: Place, store: PostgresStore, clock: ManualClock
) -> None:
    had, work = await held(store), Work(place)
    await store.cancel(had.run, b"end", 1, b"stop")
    assert await store.transact(nothing(had, status="failed", seen=0), work) == News(1)
    clock.advance(LASTS)
    await store.sweep()
    await claim(store, had.run, "w2")

    assert await store.transact(nothing(had), work) == Fenced()

    assert (work.calls, work.done) == (0, 0)


async def test_a_holder_that_was_frozen_at_its_work_writes_nothing(
    place: Place, store: PostgresStore, clock: ManualClock
) -> None:
    had, work = await held(store), Work(place)

    async def taken_over(db: Connection) -> Sequence[bytes]:
        clock.advance(LASTS)
        assert await store.sweep() == [had.run]
        again = await claim(store, had.run, "w2")
        assert await write(store, item(again, b"theirs")) == Appended(2, 0)
        return await work(db)

    assert await store.transact(nothing(had), taken_over) == Fenced()

    assert work.done == 0
    assert await bodies(store, had.run) == [b"asked", b"theirs"]


async def test_news_that_comes_during_the_work_holds_back_an_end(
    place: Place, store: PostgresStore
) -> None:
    had, work = await held(store), Work(place)

    async def told(db: Connection) -> Sequence[bytes]:
        await store.cancel(had.run, b"end", 1, b"stop")
        return await work(db)

    assert await store.transact(nothing(had, status="succeeded"), told) == News(1)

    assert work.done == 0
    assert await status(store, had.run) == "running"


async def test_work_blocks_no_other_write_to_its_run(place: Place, store: PostgresStore) -> None:
    had = await held(store)

    async def slow(db: Connection) -> Sequence[bytes]:
        await asyncio.wait_for(store.send(had.run, b"hello", "m1"), 1)
        return await Work(place)(db)

    assert await store.transact(nothing(had), slow) == Appended(3, 1)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("COMMIT", "leave out COMMIT"),
        ("ROLLBACK", "leave out COMMIT"),
        ("COMMIT AND CHAIN", "leave out COMMIT"),
    ],
)
async def test_work_that_ends_the_transaction_is_told(
    place: Place, store: PostgresStore, sql: str, told: str
) -> None:
    had = await held(store)

    with pytest.raises(StoreError, match=told):
        await store.transact(nothing(had), Work(place, sql))

    assert await bodies(store, had.run) == [b"asked"]


@pytest.mark.parametrize("ends", ["COMMIT", "COMMIT AND CHAIN"])
@pytest.mark.parametrize("then", ["raises", "SELECT 1/0", "swallows"])
async def test_work_that_committed_may_stay_whatever_it_does_then(
    place: Place, store: PostgresStore, ends: str, then: str
) -> None:
    had, work = await held(store), Work(place, ends)

    async def goes_on(db: Connection) -> Sequence[bytes]:
        made = await work(db)
        if then == "raises":
            raise KeyError("no")
        try:
            await db.execute(b"SELECT 1/0")
        except psycopg.Error:
            if then != "swallows":
                raise
        return made

    with pytest.raises(EffectError) as told:
        await store.transact(nothing(had), goes_on)

    assert told.value.may_stay
    assert work.done == 1
    assert await bodies(store, had.run) == [b"asked"]


@pytest.mark.parametrize("fails", ["SELECT 1/0", "nothing at all"])
async def test_work_that_failed_by_itself_is_known_to_be_undone(
    place: Place, store: PostgresStore, fails: str
) -> None:
    work = Work(place, fails)

    with pytest.raises(psycopg.Error):
        await store.transact(nothing(await held(store)), work)

    assert work.done == 0


async def test_work_cannot_commit_by_the_driver(place: Place, store: PostgresStore) -> None:
    had = await held(store)

    async def commits(db: Connection) -> Sequence[bytes]:
        await Work(place)(db)
        await db.commit()
        return [b"fact"]

    with pytest.raises(psycopg.ProgrammingError, match="commit"):
        await store.transact(nothing(had), commits)

    assert Work(place).done == 0


async def test_work_that_goes_on_after_a_failed_statement_is_told(
    place: Place, store: PostgresStore
) -> None:
    had = await held(store)

    async def goes_on(db: Connection) -> Sequence[bytes]:
        with pytest.raises(psycopg.errors.UndefinedTable):
            await db.execute("SELECT * FROM nowhere")
        return [b"fact"]

    with pytest.raises(StoreError, match="let it end with the error"):
        await store.transact(nothing(had), goes_on)

    assert await bodies(store, had.run) == [b"asked"]


async def test_the_work_s_own_settings_harm_nothing(place: Place, store: PostgresStore) -> None:
    had, work = await held(store), Work(place)

    async def odd(db: Connection) -> Sequence[bytes]:
        cursor = await db.execute("SELECT current_setting('search_path')")
        assert place.schema not in str(await cursor.fetchone())
        db.row_factory = dict_row
        async with db.transaction():
            await db.execute("SET LOCAL search_path TO nowhere")
        return await work(db)

    assert await store.transact(nothing(had), odd) == Appended(3, 0)


async def test_an_effect_settles_and_holds_like_any_append(
    place: Place, store: PostgresStore
) -> None:
    had, day = await held(store), Meter(key="day", slots=1, width=86_400_000_000)
    hold = Hold(name="next", nano=4, ceilings=(Ceiling(day, 10),), charge=CHARGE)
    paid = Settlement(name="call", nano=5, charge=CHARGE, meters=(day,))

    outcome = await store.transact(nothing(had, settles=(paid,), holds=(hold,)), Work(place))

    assert outcome == Appended(3, 0, (Granted(),))
    (state,) = await store.meters([day])
    assert (state.spent, state.held) == (5, 4)


async def test_a_connection_that_breaks_at_its_work_is_told(
    place: Place, store: PostgresStore
) -> None:
    had, work = await held(store), Work(place)

    async def cut(db: Connection) -> Sequence[bytes]:
        found = await work(db)
        place.execute("SELECT pg_terminate_backend(%s)", db.info.backend_pid)
        return found

    with pytest.raises(StoreError, match=r"broke .*read before you try again"):
        await store.transact(nothing(had), cut)

    assert work.done == 0
    assert await bodies(store, had.run) == [b"asked"]


async def test_a_close_waits_for_an_effect(place: Place, store: PostgresStore) -> None:
    had, work, begun = await held(store), Work(place), asyncio.Event()
    on = asyncio.Event()

    async def waits(db: Connection) -> Sequence[bytes]:
        begun.set()
        await on.wait()
        return await work(db)

    effect = asyncio.create_task(store.transact(nothing(had), waits))
    await begun.wait()
    closing = asyncio.create_task(store.close())
    on.set()
    await closing

    assert await effect == Appended(3, 0)
    assert work.done == 1


async def test_effects_side_by_side_are_each_stored_once(
    place: Place, store: PostgresStore
) -> None:
    claims = [await held(store) for _ in range(20)]

    outcomes = await asyncio.gather(*(store.transact(nothing(one), Work(place)) for one in claims))

    assert outcomes == [Appended(3, 0)] * 20
    assert Work(place).done == 20
