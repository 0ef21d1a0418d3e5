"""Laws of money that only a store with a file or a server can break."""

from __future__ import annotations

from collections.abc import AsyncIterator

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
from remit.store.postgres import PostgresStore
from remit.store.records import Appended, Claim
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import held, item, write
from tests.fixtures_postgres import Place
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

TODAY = Meter(key="today", slots=1, width=DAY)
ROLLING = Meter(key="today", slots=61, width=60_000_000)
CHARGE = Charge(model="m", purpose="turn", body=b"")


@pytest.fixture
async def store(place: Place, clock: ManualClock) -> AsyncIterator[PostgresStore]:
    async with opened(store := PostgresStore(place.address, clock, schema=place.schema)):
        yield store


async def ask(
    store: PostgresStore, had: Claim, seq: int, name: str, nano: int, meter: Meter = TODAY
) -> Granted | Denied:
    hold = Hold(name=name, nano=nano, ceilings=(Ceiling(meter, 100),), charge=CHARGE)
    outcome = await write(store, item(had, seq=seq, holds=(hold,)))
    assert isinstance(outcome, Appended)
    return outcome.grants[0]


async def pay(store: PostgresStore, had: Claim, seq: int, name: str, nano: int) -> None:
    paid = Settlement(name=name, nano=nano, charge=CHARGE, meters=(TODAY,))
    assert isinstance(await write(store, item(had, seq=seq, settles=(paid,))), Appended)


async def test_a_clock_that_is_set_back_gives_no_money_back(
    store: PostgresStore, clock: ManualClock
) -> None:
    had = await held(store)
    assert await ask(store, had, 1, "a", 60) == Granted()

    clock.advance(-DAY / 1e6)

    assert await ask(store, had, 2, "b", 60) == Denied("today", 100, 0, 60)
    assert await ask(store, had, 3, "c", 30) == Granted()
    await pay(store, had, 4, "c", 20)
    await pay(store, had, 5, "d", 5)
    assert await store.meters([TODAY]) == [MeterState(25, 60)]


async def test_a_meter_of_another_shape_goes_on_with_what_is_spent_and_held(
    store: PostgresStore, clock: ManualClock
) -> None:
    had = await held(store)
    await ask(store, had, 1, "a", 20)
    await pay(store, had, 2, "a", 15)
    await ask(store, had, 3, "b", 30)

    assert await store.meters([ROLLING]) == [MeterState(15, 30)]
    assert await ask(store, had, 4, "c", 60, ROLLING) == Denied("today", 100, 15, 30)
    await write(store, item(had, seq=5, settles=(Settlement(name="b", nano=1, charge=CHARGE),)))
    assert await store.meters([ROLLING]) == [MeterState(16, 0)]
    clock.advance(3600)
    assert await store.meters([ROLLING]) == [MeterState(16, 0)]
    clock.advance(60)
    assert await store.meters([ROLLING]) == [MeterState(0, 0)]
