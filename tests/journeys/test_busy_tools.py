"""A tool that is busy is called again with the same key, and the model never hears of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import ToolContext, tool
from remit.errors import ToolBusyError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say
from remit.tools.tool import Tool
from tests.journeys.clerk import app_of, clerk, ended, pass_time, results, soon


class Vendor:
    """Takes a call after it was busy so often, and notes the keys and the times."""

    def __init__(self, clock: ManualClock, busy: int, retry_after: float | None = None) -> None:
        self.clock, self.busy, self.retry_after = clock, busy, retry_after
        self.keys: list[str] = []
        self.times: list[float] = []
        self.called = asyncio.Event()

    def answer(self, ctx: ToolContext[Any]) -> str:
        self.keys.append(ctx.idempotency_key)
        self.times.append(self.clock.steady())
        self.called.set()
        if len(self.keys) <= self.busy:
            raise ToolBusyError(reason="409 in progress", retry_after=self.retry_after)
        return "refunded"

    def tools(self, **options: Any) -> list[Tool]:
        vendor = self

        @tool(**options)
        async def refund(ctx: ToolContext[Any]) -> str:
            """Refunds."""
            return vendor.answer(ctx)

        @tool(**options)
        def refund_on_thread(ctx: ToolContext[Any]) -> str:
            """Refunds on a thread."""
            return vendor.answer(ctx)

        return [refund, refund_on_thread]

    @property
    def pauses(self) -> list[float]:
        pairs = zip(self.times, self.times[1:], strict=False)
        return [round(later - earlier, 2) for earlier, later in pairs]


async def told(store: Store, clock: ManualClock, vendor: Vendor, name: str, **options: Any) -> str:
    """What the model reads of a call of the vendor's."""
    agent = clerk([Call(name), Say("done")], vendor.tools(**options))
    async with app_of(agent, store, clock) as app:
        waiting = asyncio.ensure_future(ended(app, await app.start("clerk", "x")))
        await soon(vendor.called.wait())
        while not waiting.done():
            await pass_time(clock, 0.5)
        (result,) = results((await waiting).messages)
    return f"{result.status}: {result.text}"


@pytest.mark.parametrize("name", ["refund", "refund_on_thread"])
@pytest.mark.parametrize("repeat", ["safe", "ask"])
async def test_a_busy_tool_is_called_again_with_the_same_key_and_longer_pauses(
    store: Store, clock: ManualClock, name: str, repeat: str
) -> None:
    vendor = Vendor(clock, busy=3)
    assert await told(store, clock, vendor, name, repeat=repeat) == "ok: refunded"
    assert (len(vendor.keys), len(set(vendor.keys))) == (4, 1)
    assert vendor.pauses == sorted(vendor.pauses)
    assert vendor.pauses[0] >= 0.5


async def test_a_busy_tool_may_say_when(store: Store, clock: ManualClock) -> None:
    vendor = Vendor(clock, busy=1, retry_after=7.0)
    assert await told(store, clock, vendor, "refund") == "ok: refunded"
    assert 7.0 <= vendor.pauses[0] < 8.0


async def test_a_tool_that_stays_busy_times_out(store: Store, clock: ManualClock) -> None:
    """The model reads that nobody knows what became of it, and nothing of the reason."""
    vendor = Vendor(clock, busy=1000)
    text = await told(store, clock, vendor, "refund", timeout=20)
    assert text.startswith("timeout: The tool timed out after 20 seconds. It may or may not")
    assert "409" not in text
    assert vendor.times[-1] - vendor.times[0] < 20


async def test_a_drain_does_not_wait_for_a_tool_that_is_busy(
    store: Store, clock: ManualClock
) -> None:
    """The next process calls it, with the same key."""
    vendor = Vendor(clock, busy=1)
    async with app_of(clerk([Call("refund")], vendor.tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(vendor.called.wait())
        draining = asyncio.ensure_future(app.drain())
        while not draining.done():
            await pass_time(clock, 0.5)
        assert await draining
    assert len(vendor.keys) == 1
    async with app_of(clerk([Say("done")], vendor.tools()), store, clock) as app:
        assert (await ended(app, run)).finish == "answer"
    assert (len(vendor.keys), len(set(vendor.keys))) == (2, 1)
