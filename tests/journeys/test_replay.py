"""A replay drives code over a record with no world, and tells the first place where they part."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

import pytest
from msgspec.structs import replace

from remit import Agent, App, Budget, Caller, WorkflowRun, workflow
from remit.agent.loop import AgentProgram
from remit.host.readers import facts_of
from remit.kernel.difference import Difference
from remit.kernel.facts import AnyFact, Finished, Stepped
from remit.kernel.program import GIVEN_UP
from remit.kernel.replay import replay
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.tools.tool import Tool
from tests.journeys.desk import World, desk, endless
from tests.journeys.flows import hosting
from tests.journeys.test_crash_at_each_write import lives
from tests.journeys.test_workflow_agents import care, decide, engage
from tests.journeys.test_workflow_crashes import JOURNEY, flow, live
from tests.journeys.test_workflow_crashes import World as Steps

Facts = list[tuple[int, AnyFact]]
STAFF = Caller(user="staff_1")


def program(agent: Agent[Any, Any]) -> AgentProgram:
    return AgentProgram(agent.plan(agent.granted))


def still(**changes: Any) -> tuple[AgentProgram, World]:
    """The desk with a model that has nothing to say."""
    world = World()
    return program(desk(world, [], **changes)), world


async def driven(store: Store, clock: ManualClock, **decision: Any) -> Facts:
    """What is recorded of a desk's run whose refund is decided so."""
    agent = desk(World(), endless())
    async with App([agent], store=store, grant={"payments:write"}, clock=clock) as app:
        run = await app.run("desk", "Refund A-1")
        call = run.pending[0].id
        decided: dict[str, Any] = {
            kind: [call] if kind == "approve" else {call: value} for kind, value in decision.items()
        }
        await app.decide(run.id, by=STAFF, **decided)
        await asyncio.wait_for(app.wait(run.id), 10)
        return await facts_of(store, run.id)


@pytest.mark.parametrize(
    "decision",
    [{"approve": None}, {"deny": "no"}, {"edit": {"order": "A-1", "amount": 20}}],
    ids=["approve", "deny", "edit"],
)
async def test_what_an_agent_did_replays_without_its_model_and_its_tools(
    store: Store, clock: ManualClock, decision: dict[str, Any]
) -> None:
    facts = await driven(store, clock, **decision)
    desk_, world = still()

    assert await replay(desk_, facts) is None
    assert not world.entered


async def test_every_beginning_of_a_record_replays(store: Store, clock: ManualClock) -> None:
    facts = await driven(store, clock, approve=None)
    desk_, _ = still()

    assert [await replay(desk_, facts[:end]) for end in range(1, len(facts))] == [None] * (
        len(facts) - 1
    )


async def test_runs_that_were_killed_at_any_write_replay(store: Store, clock: ManualClock) -> None:
    desk_, _ = still()
    counting = CrashStore(store, at=None)
    await lives(store, clock, World(), "u_0", counting)
    for number in range(1, counting.writes + 1, 3):
        run = await lives(store, clock, World(), f"u_{number}", CrashStore(store, at=number))
        assert await replay(desk_, await facts_of(store, run.id)) is None


def gated(tools: Sequence[Tool], name: str) -> list[Tool]:
    return [changed(tool, approval="always") if tool.name == name else tool for tool in tools]


async def test_an_agent_that_changed_is_told_by_its_first_difference(
    store: Store, clock: ManualClock
) -> None:
    facts = await driven(store, clock, approve=None)
    agent = desk(World(), [])
    asks_more = agent.replace(tools=gated(agent.tools, "find_order"))
    asks_less = agent.replace(tools=[tool for tool in agent.tools if tool.name != "refund"])
    ends_early = agent.replace(budget=Budget(turns=1))

    assert await replay(program(asks_more), facts) == Difference(
        3, "turn:0/call:0", "a wait for turn:0/call:0"
    )
    assert await replay(program(asks_less), facts) == Difference(
        6, "a wait for turn:1/call:0", "turn:1/call:0"
    )
    assert await replay(program(ends_early), facts) == Difference(
        5, "turn:1/think", "the end: failed, turns"
    )


async def test_how_a_run_was_ended_from_outside_is_no_difference(
    store: Store, clock: ManualClock
) -> None:
    facts = await driven(store, clock, approve=None)
    desk_, _ = still()
    for end in (
        Finished(at=0, status="cancelled", finish="cancelled"),
        Finished(at=0, status="failed", error="ProviderError: overloaded"),
        Finished(at=0, status="failed", error=f"{GIVEN_UP}it died"),
    ):
        for length in range(1, len(facts) - 1):
            cut: Facts = [*facts[:length], (length + 1, end)]
            assert await replay(desk_, cut) is None


async def test_another_end_is_a_difference(store: Store, clock: ManualClock) -> None:
    facts = await driven(store, clock, approve=None)
    seq, end = facts[-1]
    assert isinstance(end, Finished)
    desk_, _ = still()

    found = await replay(desk_, [*facts[:-1], (seq, replace(end, output="Another text"))])

    assert found is not None
    assert found.seq == seq
    assert (found.recorded, found.driven) == (
        'the end: succeeded, answer, "Another text"',
        'the end: succeeded, answer, "Done: refunded 150"',
    )


async def test_a_workflow_replays_with_its_branches_times_and_failures(
    store: Store, clock: ManualClock
) -> None:
    world = Steps()
    any_flow = flow(world, JOURNEY)
    async with hosting(store, clock, any_flow) as flows:
        run = await live(flows, clock, any_flow, "u_1")
        facts = await flows.facts(run.id)
    before = dict(world.effects)

    for end in range(1, len(facts) + 1):
        assert await replay(any_flow.program(), facts[:end]) is None
    assert dict(world.effects) == before
    shorter = flow(Steps(), JOURNEY[:-1])
    found = await replay(shorter.program(), facts)
    assert found == Difference(len(facts) - 1, "do#2 given " + _digest(facts, "do#2"), "its end")


def _digest(facts: Facts, name: str) -> str:
    found = [fact for _, fact in facts if isinstance(fact, Stepped) and fact.name == name]
    return found[0].digest or ""


async def test_a_workflow_that_gives_something_else_is_told_at_its_end(
    store: Store, clock: ManualClock
) -> None:
    gives = ["old"]

    @workflow
    async def giving(run: WorkflowRun, input: None) -> str:
        await run.step("work", lambda: None)
        if gives == ["error"]:
            raise ValueError("a bug")
        return gives[0]

    async with hosting(store, clock, giving) as flows:
        run = await flows.start(giving)
        await flows.ended(run)
        facts = await flows.facts(run)

    assert await replay(giving.program(), facts) is None
    gives[:] = ["new"]
    assert await replay(giving.program(), facts) == Difference(
        3, 'the end: succeeded, answer, "old"', 'the end: succeeded, answer, "new"'
    )
    gives[:] = ["error"]
    assert await replay(giving.program(), facts) == Difference(
        3, 'the end: succeeded, answer, "old"', "an error: ValueError: a bug"
    )


async def test_an_agent_inside_a_workflow_replays_as_one_of_its_own(
    store: Store, clock: ManualClock
) -> None:
    async with hosting(store, clock, care, engage=engage(World())) as flows:
        run = await flows.start(care, ["a"])
        for _ in range(2):
            seq = (await flows.row(run)).seq
            await flows.settled(run)
            await decide(flows, run)
            await flows.moves(run, seq)
        assert (await flows.ended(run)).status == "succeeded"
        facts = await flows.facts(run)
    world = World()

    assert await replay(care.program(engage(world)), facts) is None
    found = await replay(care.program(engage(world, asks_more=True)), facts)

    assert found is not None
    assert (found.recorded, found.driven) == (
        "in gather:0/0/agent:0, turn:0/call:0",
        "in gather:0/0/agent:0, a wait for turn:0/call:0, turn:0/call:1",
    )
    assert not world.entered
