"""A cancel is final, and leaves nothing behind that is not counted."""

import asyncio
import threading
import time
from typing import Any

import pytest

from remit.tools.context import ToolContext
from remit.tools.execute import execute
from remit.tools.tool import tool
from tests.unit.tools.calls import Desk, add, context, manual, stubborn


async def test_a_cancel_is_final_after_the_grace_time() -> None:
    made, answers, begun = stubborn()
    desk = Desk(grace=0.02)
    ctx = context()
    call = asyncio.create_task(desk.run(made, ctx=ctx))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert ctx.cancelled
    assert not ctx.life.left_behind
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 0)
    assert len(answers) == 2
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_second_cancel_does_not_wait_for_the_grace_time() -> None:
    made, _, begun = stubborn()
    desk, _ = manual()
    call = asyncio.create_task(desk.run(made))
    await begun.wait()
    call.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not call.done()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.abandoned.count == 1


async def test_a_cancel_lets_a_tool_clean_up_within_the_grace_time() -> None:
    cleaned: list[int] = []

    @tool
    async def careful() -> None:
        """Cleans up."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            cleaned.append(1)

    begun = asyncio.Event()
    desk = Desk(grace=5)
    call = asyncio.create_task(desk.run(careful))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert cleaned == [1]
    assert desk.abandoned.count == 0


async def test_a_cancel_reaches_a_thread_through_the_context() -> None:
    begun, stopped = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    @tool
    def watches(ctx: ToolContext[Any]) -> str:
        """Watches."""
        loop.call_soon_threadsafe(begun.set)
        while not ctx.cancelled:
            time.sleep(0.001)
        stopped.append(1)
        return "late"

    desk = Desk(grace=5)
    call = asyncio.create_task(desk.run(watches, ctx=context()))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert stopped == [1]
    assert desk.abandoned.count == 0


async def test_a_cancel_of_a_stuck_thread_is_raised_after_the_grace_time() -> None:
    go, begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool
    def stuck() -> str:
        """Blocks."""
        loop.call_soon_threadsafe(begun.set)
        go.wait(5)
        return "late"

    desk, ctx = Desk(grace=0.01), context()
    call = asyncio.create_task(desk.run(stuck, ctx=ctx))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.abandoned.going == 1
    assert ctx.life.left_behind
    go.set()
    await desk.abandoned.close(5)
    assert desk.abandoned.going == 0


async def test_a_call_that_is_cancelled_before_it_begins_runs_nothing() -> None:
    ran: list[int] = []

    @tool
    async def effect() -> None:
        """Has an effect."""
        ran.append(1)

    call = asyncio.create_task(Desk().run(effect))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert ran == [1] or ran == []


async def test_a_cancel_wins_over_a_result_of_the_same_moment() -> None:
    @tool
    async def quick() -> str:
        """Cancels its caller and ends."""
        call.cancel()
        return "done"

    desk = Desk()
    call = asyncio.create_task(desk.run(quick))

    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.abandoned.count == 0


async def test_a_call_dropped_without_a_cancel_leaves_nothing_behind() -> None:
    made, _, begun = stubborn()
    desk = Desk()
    call = execute(made, made.check({}), context(), clock=desk.clock, abandoned=desk.abandoned)
    waited_for = call.send(None)
    del waited_for
    await begun.wait()
    call.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


def test_a_loop_can_end_while_a_stubborn_tool_runs() -> None:
    async def main() -> None:
        made, _, begun = stubborn()
        asyncio.get_running_loop().create_task(Desk().run(made))
        await begun.wait()

    asyncio.run(main())


def test_a_thread_may_outlive_its_loop() -> None:
    go, done = threading.Event(), threading.Event()
    desk = Desk()

    @tool(timeout=0.01)
    def stuck() -> Any:
        """Blocks."""
        go.wait(5)
        return add(1)

    assert asyncio.run(desk.run(stuck)).status == "timeout"
    desk.abandoned.threads.run(done.set)
    go.set()
    assert done.wait(5)
    for _ in range(1_000):
        if not desk.abandoned.going:
            break
        time.sleep(0.001)
    assert desk.abandoned.going == 0
