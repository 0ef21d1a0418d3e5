"""A call ends in time, whatever its tool does."""

import asyncio
import threading
import time
from typing import Any

import pytest

from remit.tools.context import ToolContext
from remit.tools.tool import tool
from tests.unit.tools.calls import Desk, context, manual, stubborn


async def test_a_tool_past_its_time_is_cancelled_and_told() -> None:
    seen: list[str] = []

    @tool(timeout=30)
    async def slow(ctx: ToolContext[Any]) -> str:
        """Sleeps."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(f"cancelled {ctx.cancelled}")
        return "late"

    begun = asyncio.Event()
    desk, clock = manual()
    call = asyncio.create_task(desk.run(slow, ctx=context()))
    await begun.wait()
    await asyncio.sleep(0)
    clock.advance(29.9)
    await asyncio.sleep(0)
    assert not call.done()
    clock.advance(0.1)
    outcome = await call

    assert outcome.status == "timeout"
    assert "timed out after 30 seconds" in outcome.text
    assert "may or may not" in outcome.text
    assert seen == ["cancelled True"]
    assert desk.abandoned.count == 0


async def test_a_tool_without_a_limit_sets_no_alarm() -> None:
    @tool(timeout=None)
    async def slow() -> str:
        """Sleeps."""
        await go.wait()
        return "done"

    go = asyncio.Event()
    desk, clock = manual()
    call = asyncio.create_task(desk.run(slow))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(10**9)
    go.set()

    assert (await call).text == "done"


async def test_a_blocking_sync_tool_times_out_and_its_late_result_is_dropped() -> None:
    go, told = threading.Event(), list[object]()

    @tool(timeout=0.02)
    def blocks(ctx: ToolContext[Any]) -> str:
        """Blocks."""
        go.wait(5)
        ctx.progress("late")
        told.append(ctx.cancelled)
        return "late"

    desk = Desk(grace=5)
    begun = time.perf_counter()
    outcome = await desk.run(blocks, ctx=context(lambda *told_of: told.append(told_of)))

    assert outcome.status == "timeout"
    assert time.perf_counter() - begun < 0.5
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 1)
    go.set()
    await desk.abandoned.close(5)
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 0)
    assert told == [True]
    assert outcome.status == "timeout"


@pytest.mark.slow
async def test_a_tool_that_sleeps_on_a_thread_does_not_outlast_its_timeout() -> None:
    @tool(timeout=0.2)
    def slow() -> str:
        """Sleeps."""
        time.sleep(1.5)
        return "late"

    desk = Desk()
    begun = time.perf_counter()
    outcome = await desk.run(slow)
    assert time.perf_counter() - begun < 0.5
    await desk.abandoned.close(5)

    assert outcome.status == "timeout"
    assert desk.abandoned.going == 0


async def test_a_late_coroutine_of_a_thread_is_never_run() -> None:
    go, ran = threading.Event(), []

    async def effect() -> None:
        ran.append(1)

    @tool(timeout=0.02)
    def blocks() -> Any:
        """Blocks."""
        go.wait(5)
        return effect()

    desk = Desk()
    assert (await desk.run(blocks)).status == "timeout"
    go.set()
    await desk.abandoned.close(5)

    assert ran == []
    assert desk.abandoned.going == 0


async def test_what_a_sync_function_gave_to_await_shares_its_time() -> None:
    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    @tool(timeout=0.05)
    def gives() -> Any:
        """Gives a coroutine."""
        return hangs()

    ended: list[int] = []
    desk = Desk()

    assert (await desk.run(gives)).status == "timeout"
    assert ended == [1]
    assert desk.abandoned.count == 0


async def test_a_tool_that_swallows_its_timeout_is_left_behind_and_never_resumed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made, answers, _ = stubborn(timeout=0.01)
    desk = Desk(grace=0.02)

    outcome = await desk.run(made)
    await asyncio.sleep(0)

    assert outcome.status == "timeout"
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 0)
    assert "goes_on would not stop" in caplog.text
    # One cancel by the timeout, one GeneratorExit at the end.
    assert len(answers) == 2
    await asyncio.sleep(0.01)
    assert len(answers) == 2


async def test_the_longest_timeout_is_told_of_what_runs() -> None:
    desk, go = Desk(), asyncio.Event()
    seen: list[float] = []

    async def wait(number: int) -> str:
        """Waits."""
        seen.append(desk.abandoned.longest)
        if len(seen) == 3:
            go.set()
        await go.wait()
        return "done"

    tools = [tool(wait, timeout=seconds) for seconds in (30, None, 90)]
    assert desk.abandoned.longest == 0
    await asyncio.gather(*(desk.run(one, {"number": 1}) for one in tools))
    assert seen == [90, 90, 90]
    assert desk.abandoned.longest == 0
