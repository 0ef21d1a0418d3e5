"""The context tells a tool of its run, and the run of the tool's progress."""

import asyncio
import threading
from typing import Any

import pytest

from remit.tools.context import ToolContext
from remit.tools.tool import tool
from tests.unit.tools.calls import Desk, context

Told = list[tuple[str | None, float | None]]


def listening() -> tuple[ToolContext[None], Told]:
    told: Told = []
    return context(lambda text, fraction: told.append((text, fraction))), told


async def test_progress_is_told_from_a_coroutine() -> None:
    ctx, told = listening()

    @tool
    async def work(ctx: ToolContext[Any]) -> None:
        """Works."""
        ctx.progress("begun")
        ctx.progress(fraction=0.5)
        ctx.progress("done", fraction=1)

    await Desk().run(work, ctx=ctx)

    assert told == [("begun", None), (None, 0.5), ("done", 1)]


async def test_progress_is_told_from_a_thread_on_the_loops_thread() -> None:
    threads: list[int] = []
    ctx = context(lambda text, fraction: threads.append(threading.get_ident()))

    @tool
    def work(ctx: ToolContext[Any]) -> int:
        """Works."""
        ctx.progress("begun")
        return threading.get_ident()

    outcome = await Desk().run(work, ctx=ctx)

    assert threads == [threading.get_ident()]
    assert int(outcome.text) != threading.get_ident()


async def test_progress_after_the_end_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    ctx, told = listening()
    kept: list[ToolContext[Any]] = []

    @tool
    async def work(ctx: ToolContext[Any]) -> None:
        """Works."""
        kept.append(ctx)

    await Desk().run(work, ctx=ctx)
    kept[0].progress("late")
    await asyncio.to_thread(kept[0].progress, "late")
    await asyncio.sleep(0)
    ctx.life.tell("under way when it ended", None)

    assert told == []
    assert caplog.records == []


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", 10**400])
def test_a_bad_fraction_is_refused(fraction: Any) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        context().progress(fraction=fraction)


def test_progress_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="tells"):
        context().progress()


async def test_a_listener_that_breaks_does_not_break_the_tool() -> None:
    def breaks(text: str | None, fraction: float | None) -> None:
        raise RuntimeError

    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Works."""
        ctx.progress("begun")
        return "done"

    assert (await Desk().run(work, ctx=context(breaks))).text == "done"


def test_a_context_can_be_made_for_a_test_of_a_tool_and_not_be_changed() -> None:
    made = ToolContext(run_id="r", turn=1, call_id="c", idempotency_key="k", deps={"db": 1})

    assert made.deps["db"] == 1
    assert not made.cancelled
    assert "db" not in repr(made)
    made.progress("nobody listens")
    with pytest.raises(AttributeError):
        made.run_id = "other"  # type: ignore[misc]
