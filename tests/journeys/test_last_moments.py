"""What begins no more and what still finishes in a process whose time is over."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from remit import Pending, tool
from remit.kernel.facts import Started, decode
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Call, Say
from tests.journeys.clerk import Desk, app_of, clerk, ended, pass_time, results, soon
from tests.journeys.test_doubt import Bank


async def test_a_call_whose_lease_ended_while_its_start_was_recorded_does_not_begin(
    store: Store, clock: ManualClock
) -> None:
    """Another process may ask a person about it by then."""

    class Slow(CrashStore):
        """Takes longer than the lease to record the first start."""

        was_slow = False

        async def append(self, batch: Any) -> Any:
            stored = await super().append(batch)
            starts = any(isinstance(decode(body), Started) for one in batch for body in one.entries)
            if starts and not self.was_slow:
                self.was_slow = True
                # No sleeper wakes: the lease is over before anybody says so.
                clock._steady += 21
            return stored

    bank = Bank()
    slow = Slow(store, at=None)
    async with app_of(clerk([Call("pay", amount=5)], bank.tools()), slow, clock) as app:
        run = await app.start("clerk", "x")
        waiting = asyncio.ensure_future(ended(app, run))
        while not waiting.done():
            await pass_time(clock, 1)
        found = await waiting
    assert slow.was_slow
    assert (found.status, bank.paid) == ("paused", Counter())
    (call,) = found.pending
    assert isinstance(call, Pending)
    assert call.doubt


async def test_draining_lets_the_calls_finish_beside_one_that_may_not_begin(
    store: Store, clock: ManualClock
) -> None:
    desk, gate = Desk(), asyncio.Event()
    began = asyncio.Event()

    @tool
    async def first() -> str:
        """Makes room for the next call when it ends."""
        began.set()
        await gate.wait()
        return "first"

    calls = [Call("hold", number=1), Call("first"), Call("look", number=3)]
    agent = clerk([calls], [first, *desk.tools()], parallel=2)
    async with app_of(agent, store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(began.wait())
        await soon(desk.held.wait())
        events = app.events(run)
        draining = asyncio.ensure_future(app.drain())
        await asyncio.sleep(0)
        gate.set()
        while (await soon(anext(events))).kind != "tool_result":
            pass
        for _ in range(20):
            await asyncio.sleep(0)
        assert not desk.cut.is_set()
        desk.opened.set()
        assert await soon(draining)
    assert desk.ran == [("hold", 1)]
    other = Desk()
    async with app_of(clerk([Say("done")], [first, *other.tools()]), store, clock) as app:
        found = await ended(app, run)
    texts = [message.text for message in results(found.messages)]
    assert (texts, other.ran) == (["held 1", "first", "seen 3"], [("look", 3)])
