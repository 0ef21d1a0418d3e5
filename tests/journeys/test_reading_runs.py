"""What an App tells of a run stood so at one moment, and never waits for what cannot come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from remit import App, Workflow, WorkflowRun, workflow
from remit.errors import NotPausedError, RunNotFoundError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from tests.journeys.clerk import STAFF, ended, pass_time, soon


class Meanwhile:
    """A store in between: right before a read that a test names, something happens."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.before: dict[str, Callable[[], Awaitable[object]]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in ("read", "signals"):
            return found

        async def call(*args: Any) -> Any:
            happens = self.before.pop(name, None)
            if happens is not None:
                await happens()
            return await found(*args)

        return call


def flows_of(store: Any, clock: ManualClock, *workflows: Workflow, **options: Any) -> App:
    return App(workflows=list(workflows), store=store, clock=clock, **options)


async def reaches(app: App, run: str, status: str) -> None:
    wakeups = app.store.wakeups()
    while (await app.get(run)).status != status:
        await soon(anext(wakeups))


async def test_a_run_that_ends_while_it_is_read_is_told_as_it_was(
    store: Store, clock: ManualClock
) -> None:
    began, go = asyncio.Event(), asyncio.Event()

    @workflow
    async def wait(run: WorkflowRun, input: None) -> Any:
        async def value() -> int:
            began.set()
            await go.wait()
            return 1

        return await run.step("value", value)

    between = Meanwhile(store)
    async with (
        flows_of(store, clock, wait) as app,
        flows_of(between, clock, wait, work=False) as reader,
    ):
        run = await app.start("wait")
        await soon(began.wait())

        async def end() -> None:
            go.set()
            await ended(app, run)

        between.before["read"] = end
        found = await reader.get(run)
        assert (found.status, found.finish, found.output) == ("running", None, None)
        found = await reader.get(run)
        assert (found.status, found.finish, found.output) == ("succeeded", "answer", 1)


@workflow
async def ask(run: WorkflowRun, input: None) -> Any:
    return await run.ask("Ship?")


@pytest.mark.parametrize("meanwhile", ["read", "signals"])
async def test_a_run_that_is_answered_while_it_is_read_is_not_told_to_wait_for_nothing(
    store: Store, clock: ManualClock, meanwhile: str
) -> None:
    between = Meanwhile(store)
    async with (
        flows_of(store, clock, ask, work=False) as app,
        flows_of(between, clock, ask, work=False) as reader,
    ):
        async with flows_of(store, clock, ask) as driver:
            run = (await ended(driver, await driver.start("ask"))).id
        between.before[meanwhile] = lambda: app.answer(run, {"ask:0": True}, by=STAFF)
        assert (await reader.get(run)).status == "queued"


@workflow
async def doze(run: WorkflowRun, input: None) -> None:
    await run.sleep(3600)


async def test_a_run_that_another_app_forgets_is_waited_for_no_more(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    async with (
        flows_of(store, clock, doze) as app,
        flows_of(other_store, clock, doze, work=False) as other,
    ):
        run = await app.start("doze", user="u_1")
        await reaches(app, run, "paused")
        waiting = asyncio.ensure_future(app.wait(run))
        reading = asyncio.ensure_future(_read(app, run))
        await pass_time(clock, 1)
        assert not waiting.done()
        assert not reading.done()

        assert await soon(other.forget("u_1")) == 1
        while not (waiting.done() and reading.done()):
            await pass_time(clock, 1)
        # Who looks in between sees that it was cancelled first.
        with suppress(RunNotFoundError):
            assert (await waiting).status == "cancelled"
        with suppress(RunNotFoundError):
            assert await reading == "done"


async def _read(app: App, run: str) -> str:
    kinds = [event.kind async for event in app.events(run)]
    return kinds[-1]


async def test_a_sleeper_whose_time_has_come_and_whom_nobody_can_drive_says_why(
    store: Store, clock: ManualClock
) -> None:
    def nap(version: str) -> Workflow:
        @workflow(name="nap", version=version)
        async def nap(run: WorkflowRun, input: None) -> None:
            await run.sleep(60)

        return nap

    async with flows_of(store, clock, nap("1")) as app:
        run = await app.start("nap")
        await reaches(app, run, "paused")
    async with flows_of(store, clock, nap("2")) as app:
        clock.advance(59)
        assert (await app.get(run)).blocked_reason is None
        clock.advance(1)
        reason = (await app.get(run)).blocked_reason
        assert reason is not None
        assert "nap@2" in reason
        assert [one.blocked_reason for one in await app.runs()] == [reason]


async def test_who_waits_for_people_is_not_blocked(store: Store, clock: ManualClock) -> None:
    async with flows_of(store, clock, ask) as app:
        run = (await ended(app, await app.start("ask"))).id
    later = workflow(name="ask", version="2")(ask.function)
    async with flows_of(store, clock, later) as app:
        assert (await app.get(run)).blocked_reason is None


async def test_an_answer_that_nothing_waits_for_is_told_what_the_run_does(
    store: Store, clock: ManualClock
) -> None:
    async with flows_of(store, clock, ask) as app:
        run = await ended(app, await app.start("ask"))
        with pytest.raises(NotPausedError) as told:
            await app.answer(run.id, {"ask:1": True}, by=STAFF)
        assert told.value.status == "paused"
        await app.cancel(run.id)
        with pytest.raises(NotPausedError) as told:
            await app.answer(run.id, {"ask:1": True}, by=STAFF)
        assert told.value.status == "cancelled"
