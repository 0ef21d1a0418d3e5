"""What a tool knows of its run, from a coroutine as from a thread, and in any process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from remit import App, Tool, ToolContext, tool
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say
from remit.tools.abandoned import LeftBehind
from remit.values.clock import SystemClock
from remit.values.events import ToolProgressEvent
from tests.journeys.clerk import STAFF, app_of, clerk, ended, pass_time, results, soon

Work = Callable[[ToolContext[Any]], str]


def made(work: Work, is_async: bool, **options: Any) -> Tool:
    """A tool that does `work` in a coroutine or on a thread."""

    async def look(ctx: ToolContext[Any]) -> str:
        """Looks."""
        return work(ctx)

    def look_on_a_thread(ctx: ToolContext[Any]) -> str:
        """Looks."""
        assert threading.current_thread() is not threading.main_thread()
        return work(ctx)

    return tool(look if is_async else look_on_a_thread, name="look", **options)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_is_told_who_calls_it_for_whom_and_until_when(
    store: Store, clock: ManualClock, is_async: bool
) -> None:
    seen: list[ToolContext[Any]] = []

    def work(ctx: ToolContext[Any]) -> str:
        seen.append(ctx)
        return f"cancelled {ctx.cancelled}"

    look = made(work, is_async, timeout=7, needs={"look:up"})
    agent = clerk([Call("look"), Say("done")], [look], grant={"look:up", "more"})
    async with app_of(agent, store, clock, grant={"look:up"}) as app:
        run = await app.run("clerk", "x", user="u_1", tenant="t_1")
    (ctx,), (result,) = seen, results(run.messages)
    (call,) = run.turns[0].calls
    assert result.text == "cancelled False"
    assert (ctx.run_id, ctx.turn, ctx.call_id) == (run.id, 0, call.id)
    assert (ctx.idempotency_key, ctx.attempt) == (call.key, 1)
    assert (ctx.user, ctx.tenant, ctx.grant) == ("u_1", "t_1", frozenset({"look:up"}))
    assert (ctx.deadline, ctx.time_left) == (clock.steady() + 7, 7)
    clock.advance(3)
    assert ctx.time_left == 4
    assert ctx.lease_token is not None


async def test_a_tool_without_a_limit_has_no_deadline(store: Store, clock: ManualClock) -> None:
    look = made(lambda ctx: f"{ctx.deadline} {ctx.time_left}", True, timeout=None)
    async with app_of(clerk([Call("look"), Say("done")], [look]), store, clock) as app:
        run = await app.run("clerk", "x")
    assert results(run.messages)[0].text == "None None"


async def test_deps_are_built_in_the_process_that_drives_the_run(
    store: Store, clock: ManualClock
) -> None:
    agent = clerk(
        [Call("look"), Say("done")], [made(lambda ctx: ctx.deps, True, approval="always")]
    )
    built: list[str] = []

    def factory(process: str) -> Callable[[str | None, str | None], str]:
        def build(user: str | None, tenant: str | None) -> str:
            built.append(process)
            return f"{process} for {user} of {tenant}"

        return build

    async with app_of(agent, store, clock, deps=factory("one")) as app:
        run = await app.run("clerk", "x", user="u_1", tenant="t_1")
    assert run.status == "paused"
    async with app_of(agent, store, clock, deps=factory("two")) as app:
        await app.decide(run.id, by=STAFF, approve=[run.pending[0].id])
        run = await ended(app, run.id)
    assert results(run.messages)[0].text == "two for u_1 of t_1"
    assert built[-1:] == ["two"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_progress_reaches_who_watches(
    store: Store, clock: ManualClock, is_async: bool
) -> None:
    watched = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(ctx: ToolContext[Any]) -> str:
        ctx.progress("half", fraction=0.5)
        return "done"

    @tool
    async def wait() -> str:
        """Waits until somebody watches."""
        await watched.wait()
        return "watched"

    agent = clerk([Call("wait"), Call("look"), Say("done")], [wait, made(work, is_async)])
    async with app_of(agent, store, clock) as app:
        run = await app.start("clerk", "x")
        told: list[ToolProgressEvent] = []
        async for event in app.events(run):
            loop.call_soon(watched.set)
            if isinstance(event, ToolProgressEvent):
                told.append(event)
    assert [(event.text, event.fraction, event.turn) for event in told] == [("half", 0.5, 1)]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_cancelled_run_is_seen_by_its_tools(
    store: Store, clock: ManualClock, is_async: bool
) -> None:
    began, stopped = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool
    async def wait(ctx: ToolContext[Any]) -> str:
        """Waits."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            if ctx.cancelled:
                stopped.set()
        return "late"

    @tool(name="wait")
    def wait_on_a_thread(ctx: ToolContext[Any]) -> str:
        """Waits."""
        loop.call_soon_threadsafe(began.set)
        while not ctx.cancelled:
            stopped.wait(0.001)
        stopped.set()
        return "late"

    tools = [wait if is_async else wait_on_a_thread]
    async with app_of(clerk([Call("wait")], tools), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(began.wait())
        await app.cancel(run)
        assert (await ended(app, run)).status == "cancelled"
        assert await asyncio.to_thread(stopped.wait, 5)
        assert app.abandoned == LeftBehind(0, 0)


async def test_a_thread_that_was_left_behind_is_counted(store: Store) -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def block() -> str:
        """Blocks."""
        release.wait(20)
        return "late"

    agent = clerk([Call("block"), Say("done")], [block])
    async with App(agents=[agent], store=store, clock=SystemClock()) as app:
        assert app.abandoned == LeftBehind(0, 0)
        run = await soon(app.run("clerk", "x"))
        assert app.abandoned == LeftBehind(count=1, going=1)
        release.set()
    # Leaving the App has waited for the thread: its late result is nobody's.
    async with App(agents=[agent], store=store, clock=SystemClock()) as app:
        later = await app.get(run.id)
    assert [message.status for message in results(later.messages)] == ["timeout"]
    assert later.messages == run.messages


async def test_a_tool_that_swallows_its_cancel_is_counted(store: Store, clock: ManualClock) -> None:
    began, over = asyncio.Event(), asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Will not stop."""
        while True:
            began.set()
            with contextlib.suppress(BaseException):
                await over.wait()
        return "late"

    async with app_of(clerk([Call("stubborn")], [stubborn]), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(began.wait())
        await app.cancel(run)
        waiting = asyncio.create_task(ended(app, run))
        while not waiting.done():
            await pass_time(clock, 1)
        assert (await waiting).status == "cancelled"
        assert app.abandoned == LeftBehind(count=1, going=0)
