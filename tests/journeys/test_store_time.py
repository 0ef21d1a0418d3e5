"""When a run goes on is the store's to say, whatever the clock of the process that drives it."""

from __future__ import annotations

import asyncio

import pytest

from remit import WorkflowRun, workflow
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from tests.journeys.flows import hosting
from tests.journeys.host import hosting as hosting_toys


class Wrong(ManualClock):
    """The time of a machine whose clock is wrong by so many seconds; it passes as the store's."""

    def __init__(self, right: ManualClock, ahead: float) -> None:
        super().__init__()
        self._right, self._ahead = right, ahead

    def wall(self) -> float:
        return self._right.wall() + self._ahead

    def steady(self) -> float:
        return self._right.steady()

    async def sleep(self, seconds: float) -> None:
        await self._right.sleep(seconds)


@workflow
async def nap(run: WorkflowRun, input: None) -> float:
    before = await run.now()
    await run.sleep(2)
    return (await run.now() - before).total_seconds()


@pytest.mark.parametrize("ahead", [-3600.0, -2.0, 2.0, 3600.0])
async def test_a_sleep_ends_by_the_stores_time_after_one_pause(
    store: Store, clock: ManualClock, ahead: float
) -> None:
    async with hosting(store, Wrong(clock, ahead), nap) as flows:
        run = await flows.start(nap)
        slept = await flows.settled(run)
        assert slept.status == "paused"
        row = await flows.row(run)
        assert row.due is not None
        assert 1.9 < row.due / 1e6 - clock.wall() < 2.1
        seq = row.seq
        clock.advance(2.1)
        ended = await flows.ended(run)
        assert ended.output == pytest.approx(2.1)
        # The step that comes after the sleep, and the end.
        assert (await flows.row(run)).seq == seq + 2


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0])
async def test_what_a_program_waits_for_is_due_when_the_store_says_so(
    store: Store, clock: ManualClock, ahead: float
) -> None:
    drives: list[int] = []

    async def program(run: ActiveRun) -> Outcome:
        drives.append(run.now())
        if len(drives) == 1:
            run.pause(due=round(clock.wall() * 1000) + 1500)
        return Outcome(status="succeeded", finish="answer")

    async with hosting_toys(store, Wrong(clock, ahead), program) as host:
        run = await host.start()
        with host.bus.subscribe(run) as news:
            while (await host.store.get(run)).status != "paused":  # type: ignore[union-attr]  # it exists
                await asyncio.wait_for(news.get(), 10)
        clock.advance(1.5)
        assert (await host.settled(run)).status == "succeeded"
    assert drives[1] - drives[0] == pytest.approx(1500, abs=1)
