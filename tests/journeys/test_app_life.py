"""How a run ends before its answer: cancelled, or failed with a reason."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import tool
from remit.errors import ConnectionFailedError, ProviderError
from remit.models.retry import Retry
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Item, Say
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    clerk,
    ended,
    results,
    soon,
)


@pytest.mark.parametrize("status", ["queued", "paused", "succeeded", "failed"])
async def test_cancel_tells_what_became_of_the_run_however_often_it_is_asked(
    store: Store, clock: ManualClock, status: str
) -> None:
    scripts: dict[str, list[Item]] = {
        "queued": [],
        "paused": [Call("pay_out", amount=1)],
        "succeeded": [Say("hi")],
        "failed": [ProviderError(status=400)],
    }
    agent = clerk(scripts[status], Desk().tools())
    async with app_of(agent, store, clock, work=status != "queued") as app:
        run = await app.start("clerk", "x")
        if status != "queued":
            await ended(app, run)
        assert (await app.get(run)).status == status
        waits = status in ("queued", "paused")
        for _ in range(2):
            assert await app.cancel(run, reason="enough") == ("cancelled" if waits else status)
        found = await ended(app, run)
    assert found.status == ("cancelled" if waits else status)
    assert found.reason == ("enough" if waits else None)
    assert found.finish == {"succeeded": "answer", "failed": None}.get(status, "cancelled")
    assert not found.pending


async def test_a_running_run_is_cancelled_once_and_its_tools_are_cut(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    calls = [Call("look", number=1), Call("hold", number=2)]
    async with app_of(clerk([calls], desk.tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(desk.held.wait())
        assert await app.cancel(run, reason="enough", by=STAFF) == "running"
        assert await app.cancel(run, reason="again") in ("running", "cancelled")
        found = await ended(app, run)
    assert (found.status, found.finish, found.reason) == ("cancelled", "cancelled", "enough")
    assert desk.cut.is_set()
    assert [message.status for message in results(found.messages)] == ["ok", "not_run"]


async def test_a_tool_that_swallows_its_cancel_is_left_behind(
    store: Store, clock: ManualClock
) -> None:
    began, over = asyncio.Event(), asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Will not stop."""
        while not over.is_set():
            began.set()
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    async with app_of(clerk([Call("stubborn")], [stubborn]), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(began.wait())
        await app.cancel(run)
        waiting = asyncio.create_task(ended(app, run))
        while not waiting.done():
            clock.advance(1)
            await asyncio.sleep(0.001)
        assert (await waiting).status == "cancelled"
        over.set()
        assert (await app.get(run)).text == ""


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ProviderError(status=529, message="overloaded"), "529: overloaded"),
        (ConnectionFailedError(reason="no route", may_cost=False), "no route"),
        (ValueError("broken"), "ValueError: broken"),
    ],
)
async def test_a_model_that_fails_ends_the_run_as_failed_and_says_why(
    store: Store, clock: ManualClock, error: Any, says: str
) -> None:
    script: list[Item] = [Call("look", number=1), error]
    agent = clerk(script, Desk().tools(), retry=Retry(attempts=1))
    async with app_of(agent, store, clock) as app:
        run = await app.run("clerk", "x")
    assert (run.status, run.finish) == ("failed", None)
    assert run.error is not None
    assert says in run.error
    assert len(run.messages) == 3
    assert run.usage.tokens == 120


async def test_what_the_block_raises_goes_on_as_it_is(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    error = LookupError("mine")

    async def block() -> None:
        async with app_of(clerk([Call("hold", number=1)], desk.tools()), store, clock) as app:
            await app.start("clerk", "x")
            await soon(desk.held.wait())
            raise error

    with pytest.raises(LookupError) as caught:
        await block()
    assert caught.value is error


async def test_a_block_that_is_cancelled_is_cancelled(store: Store, clock: ManualClock) -> None:
    desk = Desk()

    async def block() -> None:
        async with app_of(clerk([Call("hold", number=1)], desk.tools()), store, clock) as app:
            await ended(app, await app.start("clerk", "x"))

    running = asyncio.create_task(block())
    await soon(desk.held.wait())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(running)
    assert desk.cut.is_set()


async def test_a_model_that_cancels_itself_fails_its_run_and_is_not_asked_for_ever(
    store: Store, clock: ManualClock
) -> None:
    """As a library's own timeout does when it leaks."""
    script: list[Item] = [asyncio.CancelledError("of its own")]
    async with app_of(clerk(script), store, clock) as app:
        run = await app.run("clerk", "x")
    assert run.status == "failed"
    assert run.error is not None
    assert "CancelledError" in run.error
