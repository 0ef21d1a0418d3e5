"""A workflow whose process died: what that process may have left running is waited for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from remit import Agent, Run, ToolContext, Workflow, WorkflowRun, tool, workflow
from remit.agent.engaged import engaged
from remit.agent.loop import AgentProgram
from remit.flow.run import Engage
from remit.kernel.lease import LeaseTerms
from remit.kernel.nested import Engagement
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Call, Say
from tests.journeys.clerk import clerk, cut_short, dies, pass_time, soon
from tests.journeys.flows import Flows, hosting

DYING = LeaseTerms()
PATIENT = LeaseTerms(lasts=timedelta(hours=1))
"""A lease that outlasts what a test lets pass; the grace is five seconds in both."""


class Cut:
    """Work that never ends in the first process, and is quick in the next."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.made = 0
        self._go, self._go_on_threads = asyncio.Event(), threading.Event()

    async def work(self) -> int:
        self.note()
        await self._go.wait()
        return self.made

    def on_a_thread(self) -> int:
        self.note()
        self._go_on_threads.wait(30)
        return self.made

    def let_go(self) -> None:
        self._go.set()
        self._go_on_threads.set()

    def note(self) -> None:
        self.made += 1
        self.began.set()


async def dies_in_the_middle(
    store: Store, clock: ManualClock, flow: Workflow, cut: Cut, engage: Engage | None = None
) -> str:
    """The id of a run whose process is gone in the middle of the work; its lease has ended."""
    dying, ids = CrashStore(store, at=None), []

    async def life() -> None:
        async with hosting(dying, clock, flow, engage=engage, terms=DYING) as flows:
            ids.append(await flows.start(flow))
            assert await asyncio.to_thread(cut.began.wait, 10)
            dying.dead = True

    await dies(life)
    clock.advance(20)
    return ids[0]


async def goes_on(flows: Flows, clock: ManualClock, run: str, cut: Cut, seconds: float) -> Run:
    """The run's end; its work is made again after so many seconds, and not before."""
    await flows.worker.recover()
    ending = asyncio.ensure_future(flows.ended(run))
    await pass_time(clock, seconds - 1)
    assert cut.made == 1
    cut.let_go()
    while not ending.done():
        await pass_time(clock, 1)
    assert cut.made == 2
    return await ending


def step_of(cut: Cut) -> Callable[[WorkflowRun], Awaitable[Any]]:
    return lambda run: run.step("work", cut.work)


def threaded_step_of(cut: Cut) -> Callable[[WorkflowRun], Awaitable[Any]]:
    return lambda run: run.step("work", cut.on_a_thread, timeout=60)


def branch_of(cut: Cut) -> Callable[[WorkflowRun], Awaitable[Any]]:
    return lambda run: run.gather(lambda inner: inner.step("work", cut.work))


@pytest.mark.parametrize(
    ("form", "seconds"),
    [(step_of, 5), (branch_of, 5), pytest.param(threaded_step_of, 60, marks=pytest.mark.slow)],
)
async def test_a_step_of_a_dead_process_is_made_again_when_that_must_be_done_with_it(
    store: Store,
    clock: ManualClock,
    form: Callable[[Cut], Callable[[WorkflowRun], Awaitable[Any]]],
    seconds: float,
) -> None:
    """After the grace, and on a thread after its timeout."""
    cut = Cut()

    @workflow
    async def flow(run: WorkflowRun, input: None) -> Any:
        await run.step("before", lambda: 1)
        return await form(cut)(run)

    run = await dies_in_the_middle(store, clock, flow, cut)
    async with hosting(store, clock, flow, terms=PATIENT) as flows:
        ended = await goes_on(flows, clock, run, cut, seconds)
    assert ended.output in (2, [2])


async def test_a_call_of_a_workflows_agent_is_made_again_when_its_dead_process_must_be_done(
    store: Store, clock: ManualClock
) -> None:
    cut, keys = Cut(), []

    @tool
    async def work(ctx: ToolContext[Any]) -> int:
        """Works."""
        keys.append(ctx.idempotency_key)
        return await cut.work()

    @workflow
    async def flow(run: WorkflowRun, input: None) -> Any:
        await run.step("before", lambda: 1)
        return (await run.agent("clerk", "Work")).text

    def engage(agent: Agent[Any, Any]) -> Engage:
        program = AgentProgram(agent.plan(agent.granted))

        def bring(name: Any, message: Any, recorded: str | None) -> Engagement:
            return engaged(program, message)

        return bring

    first = clerk(cut_short([Call("work")]), [work])
    run = await dies_in_the_middle(store, clock, flow, cut, engage(first))
    second = engage(clerk([Say("done")], [work]))
    async with hosting(store, clock, flow, engage=second, terms=PATIENT) as flows:
        assert (await goes_on(flows, clock, run, cut, 5)).output == "done"
    assert len(set(keys)) == 1


async def test_a_sleep_that_is_over_stays_so_whatever_the_time_is(
    store: Store, clock: ManualClock
) -> None:
    """What the scope around it recorded afterwards tells that it is."""

    async def rest(run: WorkflowRun) -> str:
        await run.sleep(60)
        return "rested"

    @workflow
    async def flow(run: WorkflowRun, input: None) -> Any:
        rested = await run.gather(rest)
        await run.step("after", lambda: 1)
        return [*rested, await run.ask("Go on?")]

    async with hosting(store, clock, flow) as flows:
        run = await flows.start(flow)
        await flows.settled(run)
        seq = (await flows.row(run)).seq
        clock.advance(61)
        await soon(flows.moves(run, seq + 1))
        await flows.settled(run)
        clock._wall -= 3600
        await flows.answer(run, {"ask:0": "yes"})
        assert (await flows.ended(run)).output == ["rested", "yes"]
