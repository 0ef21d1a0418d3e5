"""Agents that work inside a workflow: in its journal, with its pause."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Literal

import pytest

from remit import Result, Run, WorkflowRun, workflow
from remit.agent.decisions import decisions
from remit.agent.engaged import engaged
from remit.agent.loop import AgentProgram
from remit.errors import ConfigError, ProviderError, StepFailedError
from remit.flow.run import Engage
from remit.flow.view import waiting
from remit.kernel.facts import Stepped, decode
from remit.kernel.nested import Engagement
from remit.store.protocol import Store
from remit.store.records import Query
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.life import is_crash
from remit.testing.model import Say, ScriptedModel
from remit.values.results import Pending
from tests.journeys.clerk import calls_of
from tests.journeys.desk import World, desk, endless
from tests.journeys.flows import Flows, hosting


def engage(
    world: World,
    model: Any = None,
    versions: tuple[str, ...] = ("1",),
    *,
    asks_more: bool = False,
) -> Engage:
    """Brings the desk, in these versions; it may ask before it looks something up."""
    programs = {}
    for version in versions:
        agent = desk(world, model or endless(world)).replace(version=version)
        if asks_more:
            agent = agent.replace(tools=[replace(one, approval="always") for one in agent.tools])
        programs[f"desk@{version}"] = AgentProgram(agent.plan(agent.granted))

    def bring(agent: Any, message: Any, recorded: str | None) -> Engagement:
        found = programs.get(recorded or f"{agent}@{versions[-1]}")
        if found is None:
            raise ConfigError(f"there is no {recorded or agent} here")
        return engaged(found, message)

    return bring


@workflow(name="care")
async def care(run: WorkflowRun, input: list[str]) -> list[str]:
    async def one(run: WorkflowRun) -> str:
        result: Result = await run.agent("desk", "Refund A-1")
        return f"{result.finish}: {result.text}"

    texts = await run.gather(*[one for _ in input])
    result: Result = await run.agent("desk", f"Sum up {len(texts)}")
    return [*texts, result.text]


async def decide(flows: Flows, run: str) -> None:
    calls = {
        key: ask for key, ask in waiting(await flows.facts(run)).items() if isinstance(ask, Pending)
    }
    found = decisions(
        run,
        calls,
        approve=[call.id for call in calls.values()],
        deny={},
        edit={},
        tool=lambda call: pytest.fail(call.tool),
    )
    await flows.decide(run, dict(found))


async def live(flows: Flows, user: str) -> Run:
    """One life: start the run unless it exists, and approve whatever waits."""
    found = await flows.store.find(Query(user=user))
    run = found[0].id if found else await flows.start(care, ["a", "b"], user)
    while (seen := await flows.settled(run)).status == "paused":
        seq = (await flows.row(run)).seq
        await decide(flows, run)
        await flows.moves(run, seq)
    return seen


async def test_agents_side_by_side_wait_in_one_pause_and_go_on_together(
    store: Store, clock: ManualClock
) -> None:
    world = World()
    async with hosting(store, clock, care, engage=engage(world)) as flows:
        run = await flows.start(care, ["a", "b"])
        paused = await flows.settled(run)
        assert (paused.status, paused.finish) == ("paused", "approval")
        assert [one.tool for one in calls_of(paused.pending)] == ["refund", "refund"]
        assert len({one.id for one in paused.pending}) == 2
        asks = waiting(await flows.facts(run))
        assert list(asks) == [
            "gather:0/0/agent:0/turn:1/call:0",
            "gather:0/1/agent:0/turn:1/call:0",
        ]
        await decide(flows, run)
        paused = await flows.settled(run)
        assert [one.tool for one in calls_of(paused.pending)] == ["refund"]
        await decide(flows, run)
        ended = await flows.ended(run)

    assert ended.output == ["answer: Done: refunded 150"] * 2 + ["Done: refunded 150"]
    assert ended.usage.input_tokens > 0
    assert list(world.effects.values()) == ["A-1:150"] * 3
    assert len(world.keys) == len(set(world.keys)) == 9
    assert {key.partition("/")[0] for key in world.keys} == {run}


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_agents_in_a_workflow_killed_at_any_write_repeat_no_recorded_call(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None, when=when)
    async with hosting(counting, clock, care, engage=engage(World())) as flows:
        whole = await live(flows, "u_0")
    assert whole.status == "succeeded"
    for number in range(1, counting.writes + 1):
        world, user = World(), f"u_{number}"
        bring = engage(world)
        try:
            crash = CrashStore(store, at=number, when=when)
            async with hosting(crash, clock, care, engage=bring) as flows:
                await live(flows, user)
        except BaseException as error:
            if not is_crash(error):
                raise
        done, keys = await recorded(store, user), len(world.keys)
        clock.advance(60)
        async with hosting(store, clock, care, engage=bring) as flows:
            await flows.worker.recover()
            run = await live(flows, user)
        assert (run.status, run.output) == ("succeeded", whole.output)
        assert not done & set(world.keys[keys:])
        assert list(world.effects.values()) == ["A-1:150"] * 3
        assert len(set(world.keys)) == 9


async def recorded(store: Store, user: str) -> set[str]:
    """The keys of the calls whose results are recorded."""
    rows = await store.find(Query(user=user))
    names = [
        f"{row.id}/{fact.name}"
        for row in rows
        for entry in await store.read(row.id)
        if isinstance(fact := decode(entry.body), Stepped) and "/call:" in fact.name
    ]
    return {name.replace("turn:", "").replace("call:", "") for name in names}


async def test_a_run_keeps_the_version_of_an_agent_that_it_began_with(
    store: Store, clock: ManualClock
) -> None:
    async with hosting(store, clock, care, engage=engage(World()), deploy="1") as flows:
        run = await flows.start(care, [])
        await flows.settled(run)
    async with hosting(
        store, clock, care, engage=engage(World(), versions=("2",)), deploy="2"
    ) as flows:
        wakeups = flows.store.wakeups()
        await decide(flows, run)
        while (row := await flows.row(run)).refused is None:
            await asyncio.wait_for(anext(wakeups), 20)
        assert row.refused == "desk@1 is to go on in it: there is no desk@1 here"
    both = engage(World(), versions=("1", "2"))
    async with hosting(store, clock, care, engage=both, deploy="3") as flows:
        assert (await flows.ended(run)).output == ["Done: refunded 150"]


async def test_an_agent_that_its_provider_fails_is_a_step_that_failed(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def careful(run: WorkflowRun, input: None) -> str:
        try:
            await run.agent("desk", "Refund A-1")
        except StepFailedError as error:
            await run.ask("Go on?")
            return f"{error} {type(error.__cause__).__name__}"
        return "no error"

    model = ScriptedModel([ProviderError(status=400)])
    async with hosting(store, clock, careful, engage=engage(World(), model)) as flows:
        run = await flows.start(careful)
        await flows.settled(run)
        await flows.answer(run, {"ask:0": None})
        ended = await flows.ended(run)

    assert ended.output == (
        "Step 'agent:0' failed: ProviderError: The model's provider answered with status 400."
        " NoneType"
    )


async def test_an_agent_works_for_the_user_of_the_workflow(
    store: Store, clock: ManualClock
) -> None:
    seen: list[Any] = []

    @workflow
    async def one(run: WorkflowRun, input: str) -> Any:
        result = await run.agent("desk", input)
        seen.append((result.run_id == run.id, result.turns[0].usage_id, run.user))
        return result.text

    model = ScriptedModel([Say("Hello")])
    async with hosting(store, clock, one, engage=engage(World(), model)) as flows:
        run = await flows.start(one, "Hi", "u_1")
        assert (await flows.ended(run)).output == "Hello"
        facts = await flows.facts(run)

    assert seen == [(True, f"{run}/agent:0/turn:0/think", "u_1")]
    names = [fact.name for _, fact in facts if isinstance(fact, Stepped)]
    assert names == ["agent:0/asked", "agent:0/turn:0/think", "agent:0/end"]
