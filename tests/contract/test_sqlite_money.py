"""Laws of money in a SQLite file that are its own: its clock, and what it keeps of a meter."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from remit.store.money import (
    DAY,
    Ceiling,
    Charge,
    Denied,
    Granted,
    Hold,
    Meter,
    MeterState,
    Settlement,
)
from remit.store.records import Appended, Claim
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import LASTS, cancelled, held, item, write
from tests.fixtures_store import opened

TODAY = Meter(key="today", slots=1, width=DAY)
CHARGE = Charge(model="m", purpose="turn", body=b"receipt")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock)
    async with opened(store):
        yield store


def hold(name: str, nano: int, meter: Meter, limit: int = 100) -> Hold:
    return Hold(name=name, nano=nano, ceilings=(Ceiling(meter, limit),), charge=CHARGE)


async def ask(store: SqliteStore, had: Claim, seq: int, wish: Hold) -> Granted | Denied:
    outcome = await write(store, item(had, seq=seq, holds=(wish,)))
    assert isinstance(outcome, Appended)
    return outcome.grants[0]


async def test_a_clock_that_is_set_back_gives_no_money_back(
    store: SqliteStore, clock: ManualClock
) -> None:
    had = await held(store)
    assert await ask(store, had, 1, hold("a", 60, TODAY)) == Granted()

    clock.advance(-DAY / 1e6)

    assert await ask(store, had, 2, hold("b", 60, TODAY)) == Denied("today", 100, 0, 60)
    assert await ask(store, had, 3, hold("c", 40, TODAY)) == Granted()
    settled = Settlement(name="c", nano=30, charge=CHARGE)
    await write(store, item(had, seq=4, settles=(settled,)))
    assert await store.meters([TODAY]) == [MeterState(30, 60)]


async def test_a_meter_of_another_shape_goes_on_with_what_is_spent_and_held(
    store: SqliteStore, clock: ManualClock
) -> None:
    had = await held(store)
    await ask(store, had, 1, hold("a", 20, TODAY))
    await write(store, item(had, seq=2, settles=(Settlement(name="a", nano=15, charge=CHARGE),)))
    await ask(store, had, 3, hold("b", 30, TODAY))
    rolling = Meter(key="today", slots=61, width=60_000_000)

    assert await store.meters([rolling]) == [MeterState(15, 30)]
    assert await ask(store, had, 4, hold("c", 60, rolling)) == Denied("today", 100, 15, 30)
    await write(store, item(had, seq=5, settles=(Settlement(name="b", nano=1, charge=CHARGE),)))
    assert await store.meters([rolling]) == [MeterState(16, 0)]
    clock.advance(3600)
    assert await store.meters([rolling]) == [MeterState(16, 0)]
    clock.advance(60)
    assert await store.meters([rolling]) == [MeterState(0, 0)]


async def test_what_is_held_does_not_outlive_its_run(
    store: SqliteStore, path: Path, clock: ManualClock
) -> None:
    had = await held(store)
    await ask(store, had, 1, hold("a", 20, TODAY))
    clock.advance(LASTS)
    await store.sweep()

    await cancelled(store, had.run)

    assert await store.meters([TODAY]) == [MeterState(20, 0)]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM holds").fetchone() == (0,)
        assert db.execute("SELECT nano, estimated FROM ledger").fetchall() == [(20, 1)]


async def test_asking_what_a_meter_stands_at_writes_nothing(store: SqliteStore, path: Path) -> None:
    assert await store.meters([TODAY]) == [MeterState(0, 0)]

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM meters").fetchone() == (0,)
