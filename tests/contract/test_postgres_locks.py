"""Laws of what a PostgreSQL store locks: in one order, no longer than needed, and enough."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
import pytest

from remit.store.money import DAY, Ceiling, Charge, Hold, Meter, Settlement
from remit.store.postgres import PostgresStore, lane
from remit.store.postgres.faults import passes
from remit.store.protocol import Store
from remit.store.records import Appended, Base, Busy, Claim, StartKey
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    a_run,
    ended,
    held,
    item,
    join,
    queued,
    write,
)
from remit.values.errors import StoreError
from tests.fixtures_postgres import Place
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

T = TypeVar("T")
CHARGE = Charge(model="m", purpose="turn", body=b"")


@pytest.fixture
async def store(place: Place, clock: ManualClock) -> AsyncIterator[Store]:
    async with opened(PostgresStore(place.address, clock, schema=place.schema)) as store:
        yield store


@pytest.fixture
async def other(place: Place, clock: ManualClock) -> AsyncIterator[Store]:
    async with opened(PostgresStore(place.address, clock, schema=place.schema)) as store:
        yield store


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """The errors that the server raised in this process; a deadlock is one that passes."""
    raised: list[Exception] = []

    def note(error: Exception) -> bool:
        raised.append(error)
        return passes(error)

    monkeypatch.setattr(lane, "passes", note)
    return raised


@dataclass(frozen=True)
class Order:
    """Two locks, in order, and work that takes both of them and was given them in another."""

    first: str
    second: str
    work: Callable[[Store], Awaitable[Callable[[], Awaitable[Any]]]]


async def start_two(store: Store) -> Callable[[], Awaitable[Any]]:
    news = [a_run("b", thread="b"), a_run("a", thread="a")]
    return lambda: asyncio.gather(*map(store.create, news))


async def start_two_again(store: Store) -> Callable[[], Awaitable[Any]]:
    for thread in "ab":
        await ended(store, thread=thread)
    return await start_two(store)


async def append_two(store: Store, **fields: Any) -> Callable[[], Awaitable[Any]]:
    a, b = [await held(store, name, thread=name) for name in "ab"]
    return lambda: store.append([item(b, **fields), item(a, **fields)])


async def end_two(store: Store) -> Callable[[], Awaitable[Any]]:
    return await append_two(store, status="failed")


async def end_one(store: Store) -> Callable[[], Awaitable[Any]]:
    a = await held(store, "a", thread="a")
    return lambda: write(store, item(a, status="failed"))


async def cancel_one(store: Store) -> Callable[[], Awaitable[Any]]:
    await queued(store, "a", thread="a")
    return lambda: store.cancel("a", b"end", 1, b"stop")


async def end_one_before_another(store: Store) -> Callable[[], Awaitable[Any]]:
    b = await held(store, "b", thread="t")
    await queued(store, "a", thread="t", enqueue=1)
    c = await held(store, "c")
    return lambda: store.append([item(c), item(b, status="failed")])


async def cancel_one_before_another(store: Store) -> Callable[[], Awaitable[Any]]:
    await queued(store, "b", thread="t")
    await queued(store, "a", thread="t", enqueue=1)
    return lambda: store.cancel("b", b"end", 1, b"stop")


async def start_a_fork(store: Store) -> Callable[[], Awaitable[Any]]:
    await ended(store, "base")
    new = a_run("n", thread="t", key=StartKey("k", b""), base=Base("base", 1))
    return lambda: store.create(new)


def ceilings(*keys: str) -> tuple[Ceiling, ...]:
    meters = [Meter(key=key, slots=1, width=DAY) for key in keys]
    return tuple(Ceiling(meter, 1000) for meter in meters)


def hold(name: str, *keys: str) -> Hold:
    return Hold(name=name, nano=1, ceilings=ceilings(*keys), charge=CHARGE)


def paid(name: str) -> Settlement:
    return Settlement(name=name, nano=1, charge=CHARGE)


async def hold_on_two(store: Store) -> Callable[[], Awaitable[Any]]:
    a = await held(store, "a")
    await write(store, item(a, holds=(hold("first", "a", "b"),)))
    return lambda: write(store, item(a, seq=2, holds=(hold("second", "b", "a"),)))


async def settle_on_two(store: Store) -> Callable[[], Awaitable[Any]]:
    a, b = await held(store, "a"), await held(store, "b")
    await store.append([item(a, holds=(hold("n", "b"),)), item(b, holds=(hold("n", "a"),))])
    return lambda: store.append([item(one, seq=2, settles=(paid("n"),)) for one in (a, b)])


async def forget_two(store: Store) -> Callable[[], Awaitable[Any]]:
    for name in "ba":
        await ended(store, name, thread=name, user="u")
    return lambda: store.forget("u", None)


NEW = "INSERT INTO threads(key) VALUES ('{}')"
THREAD = "SELECT FROM threads WHERE key = '{}' FOR UPDATE"
METER = "SELECT FROM meters WHERE key = '{}' FOR UPDATE"
RUN = "SELECT FROM runs WHERE id = '{}' FOR UPDATE"
ORDERS = {
    "new threads": Order(NEW.format("a"), NEW.format("b"), start_two),
    "threads of starts": Order(THREAD.format("a"), THREAD.format("b"), start_two_again),
    "threads of ends": Order(THREAD.format("a"), THREAD.format("b"), end_two),
    "runs of appends": Order(RUN.format("a"), RUN.format("b"), append_two),
    "runs of ends": Order(RUN.format("a"), RUN.format("b"), end_two),
    "thread and run of an end": Order(THREAD.format("a"), RUN.format("a"), end_one),
    "runs of an end and of who is next": Order(
        RUN.format("a"), RUN.format("b"), end_one_before_another
    ),
    "runs of a cancel and of who is next": Order(
        RUN.format("a"), RUN.format("b"), cancel_one_before_another
    ),
    "thread and base of a start": Order(NEW.format("t"), RUN.format("base"), start_a_fork),
    "run and meter of a hold": Order(RUN.format("a"), METER.format("a"), hold_on_two),
    "meters of a hold": Order(METER.format("a"), METER.format("b"), hold_on_two),
    "meters of settlements": Order(METER.format("a"), METER.format("b"), settle_on_two),
    "threads of those who are forgotten": Order(THREAD.format("a"), THREAD.format("b"), forget_two),
    "runs of those who are forgotten": Order(RUN.format("a"), RUN.format("b"), forget_two),
    "thread and run of a cancel": Order(THREAD.format("a"), RUN.format("a"), cancel_one),
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
async def test_all_locks_are_taken_in_one_order(
    place: Place, store: Store, passing: list[Exception], order: Order
) -> None:
    work = await order.work(store)
    with psycopg.connect(place.address) as db:
        db.execute(f"SET search_path TO {place.schema}".encode())
        db.execute("SET lock_timeout TO '5s'")
        db.execute(order.first.encode())
        working = asyncio.ensure_future(work())
        await asyncio.sleep(0.1)
        assert not working.done()

        await asyncio.to_thread(db.execute, order.second.encode())
        db.commit()

    await working
    assert passing == []


class Crowd:
    """Some stores on one schema, which all write to the same runs and threads, in any order."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self.stores = stores
        self.dice = random.Random(5)

    async def round(self, number: int) -> None:
        a, b, c = self.stores
        for n in range(24):
            await queued(a, thread=f"{number}.{n}")
        claims = await a.claim("w1", [PROGRAM], format=1, room=24)
        await asyncio.gather(
            self.append(a, claims, None),
            self.spend(c, claims),
            *(b.send(one.run, b"hello", f"m{number}") for one in self.some(claims)),
            *(store.delete_before(2**52) for store in self.stores),
            self.append(b, claims, "failed"),
            self.append(c, claims, "paused"),
            *(c.cancel(one.run, b"", 1, b"") for one in self.some(claims)),
            *(self.start(store, number) for store in self.stores),
        )
        while await a.claim("w1", [PROGRAM], format=1, room=1000):
            pass

    async def append(self, store: Store, claims: Sequence[Claim], next_status: Any) -> None:
        for seq in range(1, 5):
            some = self.some(claims)
            await store.append([item(one, seq=seq, status=next_status) for one in some])

    async def spend(self, store: Store, claims: Sequence[Claim]) -> None:
        for seq in range(1, 5):
            settles = (paid(f"{seq - 1}"),)
            await store.append(
                [
                    item(
                        one, seq=seq, settles=settles, holds=(hold(f"{seq}", *self.some("abcdef")),)
                    )
                    for one in self.some(claims)
                ]
            )

    async def start(self, store: Store, number: int) -> None:
        threads = [f"{number}.{n}" for n in range(24)] + [f"new {number}.{n}" for n in range(100)]
        some = self.some(threads)
        keys = [StartKey(f"{number} {self.dice.random():.1f}", b"") for _ in some]
        await asyncio.gather(
            *(
                store.create(a_run(thread=thread, key=key, enqueue=2))
                for thread, key in zip(some, keys, strict=True)
            )
        )

    def some(self, all: Sequence[T]) -> list[T]:
        return self.dice.sample(all, len(all) - 4)


async def test_writes_in_any_order_never_lock_each_other_out(
    place: Place, passing: list[Exception]
) -> None:
    stores = [PostgresStore(place.address, schema=place.schema) for _ in range(3)]
    for store in stores:
        await store.open()
    await join(stores[0], "w1")
    crowd = Crowd(stores)
    for number in range(12):
        await crowd.round(number)
    for store in stores:
        await store.close()

    assert passing == []


async def test_a_start_waits_for_another_s_on_its_thread(place: Place, store: Store) -> None:
    await ended(store, thread="t")
    with psycopg.connect(place.address) as db:
        db.execute(f"SELECT FROM {place.schema}.threads FOR UPDATE".encode())
        starting = asyncio.create_task(store.create(a_run(thread="t")))
        await asyncio.sleep(0.1)
        assert not starting.done()
        db.execute(f"UPDATE {place.schema}.threads SET live = 'another'".encode())
        db.commit()

    assert await starting == Busy("another")


async def test_a_locked_run_is_left_to_its_locker(place: Place, store: Store) -> None:
    first, second = await queued(store), await queued(store)
    await join(store, "w")
    with psycopg.connect(place.address) as db:
        db.execute(f"SELECT FROM {place.schema}.runs WHERE id = %s FOR UPDATE", [first])

        claims = await asyncio.wait_for(store.claim("w", [PROGRAM], format=1, room=2), 2)

    assert [one.run for one in claims] == [second]


GATE = """
CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext('{0}')); RETURN NEW; END $$;
CREATE TRIGGER gate BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION gate()
"""


@pytest.mark.parametrize("by_id", [True, False])
async def test_a_sweep_misses_no_claim_that_is_under_way(
    place: Place, store: Store, other: Store, clock: ManualClock, by_id: bool
) -> None:
    run = await queued(store)
    await join(store, "w1")
    place.execute(GATE.format(place.schema))
    with psycopg.connect(place.address) as db:
        db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [place.schema])
        claiming = asyncio.create_task(
            store.claim("w1", [PROGRAM], format=1, run=run if by_id else None)
        )
        await asyncio.sleep(0.1)
        assert not claiming.done()
        clock.advance(LASTS)
        assert await other.sweep() == []
        db.commit()

    assert [one.run for one in await claiming] == [run]
    assert await other.sweep() == [run]


async def test_a_write_waits_for_another_s_lock(place: Place, store: Store) -> None:
    had = await held(store)
    with psycopg.connect(place.address) as db:
        db.execute(f"SELECT FROM {place.schema}.runs FOR UPDATE".encode())
        waiting = asyncio.create_task(write(store, item(had)))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        db.commit()

        assert await waiting == Appended(2, 0)


async def test_a_lock_that_stays_is_told_and_holds_up_few(place: Place) -> None:
    async with opened(PostgresStore(place.address, schema=place.schema, patience=5)) as store:
        stuck, *free = [await held(store) for _ in range(6)]
        with psycopg.connect(place.address) as db:
            query = f"SELECT FROM {place.schema}.runs WHERE id = %s FOR UPDATE"
            db.execute(query.encode(), [stuck.run])
            writes = [write(store, item(one)) for one in (stuck, *free)]
            refused, *stored = await asyncio.wait_for(
                asyncio.gather(*writes, return_exceptions=True), 10
            )

        assert stored == [Appended(2, 0)] * 5
        assert isinstance(refused, StoreError)
        assert "stayed locked: look in pg_stat_activity" in str(refused)
        assert await write(store, item(stuck)) == Appended(2, 0)


async def test_a_table_that_stays_locked_is_told_to_all_in_time(place: Place) -> None:
    async with opened(PostgresStore(place.address, schema=place.schema, patience=1)) as store:
        claims = [await held(store) for _ in range(40)]
        with psycopg.connect(place.address) as db:
            db.execute(f"LOCK TABLE {place.schema}.runs".encode())
            writes = [write(store, item(one)) for one in claims]
            told = await asyncio.wait_for(asyncio.gather(*writes, return_exceptions=True), 15)

    assert [type(one) for one in told] == [StoreError] * 40
