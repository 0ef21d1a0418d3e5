"""An App whose store answers no more: its callers are told, and it can be left, before long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit.errors import StoreError
from remit.host import executor, worker
from remit.store.memory import MemoryStore
from remit.store.records import Busy, Created, Existing, Held, NewRun
from remit.testing.clock import ManualClock
from remit.testing.model import Call
from tests.journeys.clerk import Desk, app_of, clerk, pass_time, soon


class Refusing(MemoryStore):
    """Takes nothing, after `seconds` of tries of its own."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        super().__init__(clock)
        self._time, self._seconds = clock, seconds
        self.tries = 0

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        self.tries += 1
        self._time.advance(self._seconds)
        raise StoreError(reason="away")


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "tries"), [(0.0, 4), (1.0, 4), (3.0, 2), (30.0, 1)])
async def test_a_caller_waits_no_longer_than_a_patient_store(seconds: float, tries: int) -> None:
    clock = ManualClock()
    store = Refusing(clock, seconds)
    async with app_of(clerk([]), store, clock, work=False) as app:
        start = asyncio.ensure_future(app.start("clerk", "x"))
        for _ in range(200):
            await pass_time(clock, 0.05)
        with pytest.raises(StoreError):
            await soon(start)
    assert store.tries == tries


class Silent(MemoryStore):
    """Answers, until it is `dead`, what a worker asks when it leaves."""

    dead = False

    async def release(self, *args: Any, **options: Any) -> bool:
        return await super().release(*args, **options) if not self.dead else await self._nothing()

    async def beat(self, *args: Any, **options: Any) -> list[Held] | None:
        found = await super().beat(*args, **options) if not self.dead else await self._nothing()
        return None if found is None else list(found)

    async def _nothing(self) -> Any:
        await asyncio.Event().wait()


async def test_an_app_is_left_though_its_store_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (executor, worker):
        monkeypatch.setattr(module, "GIVING_BACK", 0.05)
    clock, desk = ManualClock(), Desk()
    store = Silent(clock)
    app = app_of(clerk([Call("hold", number=1)], desk.tools()), store, clock)
    await app.__aenter__()
    run = await app.start("clerk", "x")
    await soon(desk.held.wait())
    store.dead = True

    await asyncio.wait_for(app.__aexit__(None, None, None), 4)

    assert desk.cut.is_set()
    row = await store.get(run)
    assert row is not None
    assert row.status == "running"
