"""A run driven line by line: the next call, a death here, time forward."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from remit import Agent, Budget, Caller, tool
from remit.store.protocol import Store
from remit.testing import Call, Harness, ManualClock, Say, ScriptedModel
from remit.testing.gates import Moment
from tests.journeys.clerk import calls_of
from tests.journeys.desk import World, desk, endless

STAFF = Caller(user="staff_1")
GRANT = {"payments:write"}


def process(store: Store, clock: ManualClock, world: World) -> Harness:
    return Harness([desk(world, endless(world))], store=store, clock=clock, grant=GRANT)


async def test_a_run_goes_on_one_step_at_a_time(store: Store, clock: ManualClock) -> None:
    world = World()
    async with process(store, clock, world) as at:
        run_id = await at.start("desk", "Refund A-1", user="u_1")
        assert (at.standing, world.turns) == (["model scripted:model"], [])
        await at.next_model()
        assert (world.turns, world.entered) == ([0], {})
        await at.next_tool("find_customer")
        assert world.entered == {"find_customer": 1}
        await at.next_tool()
        assert world.entered == {"find_customer": 1, "find_order": 1}
        await at.next_model()
        run = await at.pause()
        assert [pending.tool for pending in calls_of(run.pending)] == ["refund"]
        await at.app.decide(run_id, approve=[run.pending[0].id], by=STAFF)
        await at.next_tool("refund")
        assert world.effects
        run = await at.finish()
    assert (run.status, run.text) == ("succeeded", "Done: refunded 150")


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_tool_whose_process_dies_runs_again_unless_it_was_recorded(
    store: Store, clock: ManualClock, moment: Moment
) -> None:
    world = World()
    async with process(store, clock, world) as at:
        await at.start("desk", "Refund A-1", user="u_1")
        await at.next_model()
        await at.next_tool("find_order", crash=moment)
        with pytest.raises(AssertionError, match="restart"):
            await at.next_tool()
        await at.restart()
        await at.finish()
    assert world.entered["find_order"] == (2 if moment == "before" else 1)
    assert world.entered["find_customer"] == 1
    assert len(set(world.keys)) == 2


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_model_call_is_made_again_unless_it_was_recorded(
    store: Store, clock: ManualClock, moment: Moment
) -> None:
    world = World()
    async with process(store, clock, world) as at:
        await at.start("desk", "Refund A-1", user="u_1")
        await at.next_model(crash=moment)
        await at.restart()
        await at.finish()
    assert world.turns[:2] == ([0, 0] if moment == "before" else [0, 1])


async def test_a_process_that_dies_at_a_gate_has_done_nothing(
    store: Store, clock: ManualClock
) -> None:
    world = World()
    async with process(store, clock, world) as at:
        await at.start("desk", "Refund A-1", user="u_1")
        await at.next_model()
        await at.crash()
        assert world.entered == {}
        await at.restart()
        assert sorted(at.standing) == ["tool find_customer", "tool find_order"]
        await at.finish()
    assert world.entered == {"find_customer": 1, "find_order": 1}


async def test_time_goes_by_and_the_lease_is_kept(store: Store, clock: ManualClock) -> None:
    world = World()
    async with process(store, clock, world) as at:
        await at.start("desk", "Refund A-1", user="u_1")
        await at.next_model()
        before = clock.wall()
        await at.advance(47)
        assert clock.wall() == before + 47
        await at.finish()
    assert world.turns == [0, 1]
    assert len(world.keys) == 2


async def test_a_restart_in_good_order_costs_no_death(store: Store, clock: ManualClock) -> None:
    world = World()
    async with process(store, clock, world) as at:
        run_id = await at.start("desk", "Refund A-1", user="u_1")
        for _ in range(4):
            await at.restart(after=timedelta(seconds=1))
            assert at.standing == ["model scripted:model"]
        run = await at.finish()
        assert run.status == "paused"
        await at.app.cancel(run_id)
        assert (await at.app.get(run_id)).status == "cancelled"
    assert world.turns == [0, 1]


async def test_a_step_that_does_not_come_is_told_with_where_the_run_stands() -> None:
    model = ScriptedModel([Call("look", at="a"), Say("Done.")])
    async with Harness([agent(model)], patience=0.2) as at:
        await at.start("a", "go")
        with pytest.raises(AssertionError, match=r"no tool call comes: .*at the gate: model"):
            await at.next_tool()
        await at.next_model()
        with pytest.raises(AssertionError, match=r"no tool other comes: .*at the gate: tool look"):
            await at.next_tool("other")
        with pytest.raises(AssertionError, match="no model call comes"):
            await at.next_model()
        with pytest.raises(AssertionError, match="does not wait for people"):
            await at.pause()
        await at.finish()
        with pytest.raises(AssertionError, match=r"no model call comes: it is succeeded"):
            await at.next_model()


async def test_a_tool_on_a_thread_stands_at_the_gate_too() -> None:
    ran = []

    @tool
    def look(at: str) -> str:
        """Looks."""
        ran.append(at)
        return "seen"

    model = ScriptedModel([Call("look", at="a"), Say("Done.")])
    async with Harness([agent(model, look)]) as process:
        await process.start("a", "go")
        await process.next_model()
        assert ran == []
        await process.next_tool("look", crash="before")
        assert ran == ["a"]
        await process.restart()
        run = await process.finish()
    assert (ran, run.text) == (["a", "a"], "Done.")


async def test_other_code_can_take_over() -> None:
    first = agent(ScriptedModel([Call("look", at="a")]))
    async with Harness([first]) as process:
        await process.start("a", "go")
        await process.next_model()
        await process.crash()
        await process.restart(agents=[agent(ScriptedModel([Say("From the other.")]))])
        run = await process.finish()
    assert run.text == "From the other."


async def test_what_keeps_an_app_from_opening_is_raised() -> None:
    class Broken:
        async def open(self) -> None:
            raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        async with Harness([], store=Broken()):  # type: ignore[arg-type]  # the fault
            pass


def agent(model: ScriptedModel, look: Any = None) -> Agent[Any, Any]:
    @tool
    async def own(at: str) -> str:
        """Looks."""
        return "seen"

    given = look or own
    if look is None:
        given = tool(name="look")(own.handler)
    return Agent(name="a", model=model, tools=[given], budget=Budget(turns=4))
