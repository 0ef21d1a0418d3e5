"""Laws of money in a SQLite file that are its own: what it keeps of a hold and of a meter."""

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
