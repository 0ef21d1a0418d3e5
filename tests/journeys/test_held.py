"""What a worker drives and what the store says it holds are the same runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from tests.journeys.clerk import soon
from tests.journeys.host import DONE, hosting


class Slow:
    """A store that holds the answers of one of its calls, and tells of each heartbeat's."""

    def __init__(self, store: Store, held: str = "") -> None:
        self.store, self.held = store, held
        self.entered, self.opened, self.beaten = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in (self.held, "beat"):
            return found

        async def call(*args: Any, **options: Any) -> Any:
            outcome = await found(*args, **options)
            if name == self.held and (outcome or name == "sweep"):
                self.entered.set()
                await self.opened.wait()
            if name == "beat":
                self.beaten.set()
            return outcome

        return call

    async def next_beat(self, clock: ManualClock) -> None:
        """Let a renewal pass, and what the worker makes of it."""
        self.beaten.clear()
        clock.advance(5)
        await soon(self.beaten.wait())
        for _ in range(20):
            await asyncio.sleep(0)


class Endless:
    """A program that works until it is cut."""

    def __init__(self) -> None:
        self.began, self.cut = asyncio.Event(), asyncio.Event()

    async def __call__(self, run: ActiveRun) -> Outcome:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cut.set()
            raise
        return DONE


async def test_a_run_whose_claim_is_late_is_not_given_back_meanwhile(
    store: Store, clock: ManualClock
) -> None:
    """Given back it would be driven elsewhere, and here too as soon as the claim is known."""
    slow: Any = Slow(store, "claim")

    async def program(run: ActiveRun) -> Outcome:
        return Outcome(status="succeeded", finish="answer", output=run.tenure.token)

    async with hosting(slow, clock, program) as host:
        run = await host.start()
        await soon(slow.entered.wait())
        for _ in range(4):
            await slow.next_beat(clock)
        row = await store.get(run)
        assert row is not None
        assert (row.status, row.token) == ("running", 1)
        slow.opened.set()
        assert (await host.settled(run)).status == "succeeded"


async def test_a_run_that_is_no_longer_held_is_dropped(store: Store, clock: ManualClock) -> None:
    """Without waiting for an append that is refused: until then a step would be made twice."""
    slow: Any = Slow(store)
    endless = Endless()
    async with hosting(slow, clock, endless, room=1) as host:
        run = await host.start()
        await soon(endless.began.wait())
        row = await store.get(run)
        assert row is not None
        assert await store.release(host.worker._id, run, row.token)
        assert await store.beat("other", 60.0, join=True) == []
        assert await store.claim("other", ["toy@1"], format=1, run=run)
        await slow.next_beat(clock)
        await soon(endless.cut.wait())


async def test_the_end_of_a_lease_is_noticed_when_it_comes(
    store: Store, clock: ManualClock
) -> None:
    """Also after a renewal that took long: a moment later another process may have begun."""
    slow: Any = Slow(store)
    endless = Endless()
    terms = LeaseTerms(lasts=timedelta(seconds=10), renew_every=timedelta(seconds=5))
    async with hosting(slow, clock, endless, terms=terms) as host:
        await host.start()
        await soon(endless.began.wait())
        slow.held = "beat"
        clock.advance(5)
        await soon(slow.entered.wait())
        clock.advance(7)
        slow.opened.set()
        await soon(slow.beaten.wait())
        await asyncio.sleep(0)
        slow.opened.clear()
        clock.advance(3.1)
        await soon(endless.cut.wait())
        slow.opened.set()


async def test_a_sweep_that_takes_long_costs_no_lease(store: Store, clock: ManualClock) -> None:
    slow: Any = Slow(store)
    endless = Endless()
    async with hosting(slow, clock, endless) as host:
        await host.start()
        await soon(endless.began.wait())
        slow.held = "sweep"
        clock.advance(100)
        await soon(endless.cut.wait())
        await soon(slow.entered.wait())
        for _ in range(5):
            await slow.next_beat(clock)
        slow.opened.set()
