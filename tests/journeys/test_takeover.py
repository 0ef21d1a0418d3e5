"""How runs go on in another process: given back, taken over, or given up with a reason."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from remit import Agent, Budget, LeaseTerms, ToolContext, tool
from remit.errors import StoreError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import Call, Item, Say, ScriptedModel
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    check_request,
    clerk,
    dies,
    ended,
    pass_time,
    results,
    soon,
)

PATIENT = LeaseTerms(lasts=timedelta(hours=1))
"""A lease that outlasts what a test lets pass."""


async def test_leaving_in_the_middle_of_a_tool_gives_the_run_back(
    store: Store, clock: ManualClock
) -> None:
    """The next App finishes it: what was recorded is kept, and the call that was cut is made
    again with the same key."""
    desk, other = Desk(), Desk()
    calls = [Call("look", number=1), Call("hold", number=2), Call("look", number=3)]
    async with app_of(clerk([calls], desk.tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(desk.held.wait())
        events = app.events(run)
        while (await soon(anext(events))).kind != "tool_result":
            pass
        await soon(anext(events))
    assert desk.cut.is_set()
    row = await store.get(run)
    assert row is not None
    assert (row.status, row.deaths) == ("queued", 0)
    other.opened.set()
    model = ScriptedModel([Say("done")])
    async with app_of(clerk(model, other.tools()), store, clock) as app:
        found = await ended(app, run)
    assert (found.finish, other.ran) == ("answer", [("hold", 2)])
    assert [other.keys[0]] == [
        key for (name, _), key in zip(desk.ran, desk.keys, strict=True) if name == "hold"
    ]
    assert [message.text for message in results(found.messages)] == ["seen 1", "held 2", "seen 3"]
    check_request(model.requests[0])


class Between:
    """A store in between that can hold one of its calls."""

    def __init__(self, store: Store, held: str, *, when: str = "before") -> None:
        self.store, self.held, self.when = store, held, when
        self.entered, self.opened = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name != self.held:
            return found

        async def call(*args: Any, **options: Any) -> Any:
            if self.when == "before":
                await self._wait()
            outcome = await found(*args, **options)
            if self.when == "after" and outcome:
                await self._wait()
            return outcome

        return call

    async def _wait(self) -> None:
        self.entered.set()
        await self.opened.wait()


@pytest.mark.parametrize(("held", "when"), [("read", "before"), ("claim", "after")])
async def test_leaving_while_a_run_is_just_being_taken_loses_no_time(
    store: Store, clock: ManualClock, held: str, when: str
) -> None:
    """It waits for no lease to end, and counts as no death."""
    desk = Desk()
    between: Any = Between(store, held, when=when)
    async with app_of(clerk([], desk.tools()), between, clock) as app:
        run = await app.start("clerk", "x")
        await soon(between.entered.wait())
        if held == "read":
            asyncio.get_running_loop().call_later(0.01, between.opened.set)
    row = await store.get(run)
    assert row is not None
    assert (row.status, row.deaths) == ("queued", 0)
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        assert (await ended(app, run)).text == "hi"


async def dies_in_the_middle(
    store: Store, clock: ManualClock, agent: Agent[Any, Any], held: asyncio.Event
) -> str:
    """The id of a run whose process is gone in the middle of a call."""
    crash, ids = CrashStore(store, at=None), []

    async def life() -> None:
        async with app_of(agent, crash, clock) as app:
            ids.append(await app.start("clerk", "x"))
            await soon(held.wait())
            crash.dead = True
            raise Crash

    await dies(life)
    return ids[0]


async def test_a_call_of_a_dead_process_is_made_again_after_the_grace(
    store: Store, clock: ManualClock
) -> None:
    desk, other = Desk(), Desk()
    other.opened.set()
    script: list[Item] = [[Call("hold", number=1), Call("pay_out", amount=5)]]
    run = await dies_in_the_middle(store, clock, clerk(script, desk.tools()), desk.held)
    clock.advance(21)
    agent = clerk([Say("done")], other.tools(approval="never"))
    async with app_of(agent, store, clock, lease=PATIENT) as app:
        waiting = asyncio.create_task(ended(app, run))
        await pass_time(clock, 3.9)
        assert other.ran == []
        while not waiting.done():
            await pass_time(clock, 1)
        assert (await waiting).finish == "answer"
    assert ("hold", 1) in other.ran
    assert other.keys[other.ran.index(("hold", 1))] == desk.keys[0]


async def test_a_call_on_a_thread_of_a_dead_process_is_made_again_after_its_timeout(
    store: Store, clock: ManualClock
) -> None:
    ran: list[str] = []

    @tool(timeout=60)
    def work(ctx: ToolContext[Any]) -> str:
        """Works on a thread."""
        ran.append(ctx.idempotency_key)
        return "done"

    class Deaf(CrashStore):
        """Takes no result of the tool."""

        async def append(self, batch: Any) -> Any:
            if ran:
                self.dead = True
            return await super().append(batch)

    ids: list[str] = []

    async def life() -> None:
        agent = clerk([Call("work")], [work])
        async with app_of(agent, Deaf(store, at=None), clock) as app:
            ids.append(await app.start("clerk", "x"))
            await asyncio.Event().wait()

    await dies(life)
    clock.advance(20)
    async with app_of(clerk([Say("done")], [work]), store, clock, lease=PATIENT) as app:
        waiting = asyncio.create_task(ended(app, ids[0]))
        await pass_time(clock, 59)
        assert len(ran) == 1
        while not waiting.done():
            await pass_time(clock, 1)
        assert (await waiting).finish == "answer"
    assert len(ran) == 2
    assert len(set(ran)) == 1


async def test_a_run_whose_processes_die_is_given_up_with_a_reason(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    run = await dies_in_the_middle(
        store,
        clock,
        clerk([[Call("look", number=1), Call("hold", number=2)]], desk.tools()),
        desk.held,
    )
    for number in range(2):
        clock.advance(21)
        await store.sweep()
        await store.beat(f"dead{number}", 20.0, join=True)
        assert await store.claim(f"dead{number}", ["clerk@1"], format=1)
    clock.advance(21)
    async with app_of(
        clerk([], Desk().tools()), store, clock, lease=LeaseTerms(max_deaths=3)
    ) as app:
        found = await ended(app, run)
    assert (found.status, found.finish) == ("failed", None)
    assert found.error is not None
    assert "died 3 times" in found.error
    assert [message.status for message in results(found.messages)] == ["ok", "not_run"]


async def test_leaving_and_pausing_count_as_no_deaths(store: Store, clock: ManualClock) -> None:
    terms = LeaseTerms(max_deaths=1)
    desks = [Desk() for _ in range(4)]
    async with app_of(clerk([], []), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
    for number, desk in enumerate(desks):
        script: list[Item] = [Call("hold", number=1)] if number == 0 else []
        async with app_of(clerk(script, desk.tools()), store, clock, lease=terms) as app:
            await soon(desk.held.wait())
    last = Desk()
    last.opened.set()
    async with app_of(clerk([Say("done")], last.tools()), store, clock, lease=terms) as app:
        assert (await ended(app, run)).finish == "answer"


async def test_recover_finds_the_runs_whose_process_is_gone(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
        await store.beat("dead", 20.0, join=True)
        assert await store.claim("dead", ["clerk@1"], format=1)
        assert await app.recover() == 0
        clock.advance(21)
        assert await app.recover() == 1
        assert await app.recover() == 0
        assert (await app.get(run)).status == "queued"


async def test_runs_of_a_dead_process_are_found_by_themselves(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        await store.beat("dead", 20.0, join=True)
        async with app_of(clerk([], name="other"), store, clock, work=False) as idle:
            run = await idle.start("other", "x")
        assert await store.claim("dead", ["other@1"], format=1)
        await pass_time(clock, 30)
        row = await store.get(run)
        assert row is not None
        assert row.status == "queued"
        assert (await app.run("clerk", "x")).text == "hi"


async def test_an_app_that_does_not_work_drives_nothing(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
        for _ in range(20):
            clock.advance(1)
            await asyncio.sleep(0)
        assert (await app.get(run)).status == "queued"
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        assert (await ended(app, run)).text == "hi"


@pytest.mark.parametrize("failing", ["read", "lineage", "signals", "append", "claim", "beat"])
async def test_a_store_that_fails_for_a_moment_ends_no_run(
    store: Store, clock: ManualClock, failing: str
) -> None:
    class Failing:
        """Fails each of its calls once in a while."""

        def __init__(self) -> None:
            self.times = 0

        def __getattr__(self, name: str) -> Any:
            found = getattr(store, name)
            if name != failing:
                return found

            async def call(*args: Any, **options: Any) -> Any:
                self.times += 1
                if self.times in (2, 4):
                    raise StoreError(reason="away for a moment")
                return await found(*args, **options)

            return call

    flaky: Any = Failing()
    desk = Desk()
    script: list[Item] = [Call("pay_out", amount=1), Say("done")] * 2
    async with (
        app_of(clerk(script, desk.tools()), flaky, clock, lease=PATIENT),
        app_of(clerk([]), store, clock, work=False) as app,
    ):
        for message in ("one", "two"):
            run = await app.start("clerk", message, user="u_1", thread="t_1")
            await until(clock, store, run, "paused")
            (pending,) = (await app.get(run)).pending
            await app.decide(run, approve=[pending.id], by=STAFF)
            await until(clock, store, run, "succeeded")
    assert desk.ran == [("pay_out", 1), ("pay_out", 1)]
    assert flaky.times >= 2


async def until(clock: ManualClock, store: Store, run: str, status: str) -> None:
    """Let time pass until the run has this status."""
    for _ in range(200):
        row = await store.get(run)
        assert row is not None
        if row.status == status:
            return
        assert row.status in ("queued", "running", "paused")
        await pass_time(clock, 1)
    raise AssertionError(f"the run never is {status}")


async def test_waiting_for_a_dead_process_is_no_time_at_work(
    store: Store, clock: ManualClock
) -> None:
    """A budget of seconds is not spent by the grace that a takeover waits for."""
    desk, other = Desk(), Desk()
    dying = CrashStore(store, at=None)
    bounds = Budget(turns=3, seconds=0.2)

    async def life() -> None:
        agent = clerk([Call("hold", number=1)], desk.tools(), budget=bounds)
        async with app_of(agent, dying, clock) as app:
            await app.start("clerk", "x")
            await soon(desk.held.wait())
            dying.dead = True

    await dies(life)
    clock.advance(21)
    other.opened.set()
    agent = clerk([Say("done")], other.tools(), budget=bounds)
    async with app_of(agent, store, clock) as app:
        (run,) = await app.runs()
        await asyncio.sleep(0.4)
        assert other.ran == []
        clock.advance(5)
        assert (await ended(app, run.id)).finish == "answer"
    assert other.ran == [("hold", 1)]
