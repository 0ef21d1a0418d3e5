"""Agents inside a run that is paused, decided, killed and replayed."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace as changed
from typing import Any, Literal

import pytest

from remit import Agent, App, Run, ToolContext, tool
from remit.agent.loop import AgentProgram
from remit.events import (
    DoneEvent,
    PendingEvent,
    SubagentDeltaEvent,
    SubagentEvent,
    TextEvent,
    ToolProgressEvent,
    ToolResultEvent,
    TurnEvent,
)
from remit.host.readers import facts_of
from remit.kernel.difference import Difference
from remit.kernel.facts import AnyFact, Stepped, decode, format_of
from remit.kernel.replay import replay
from remit.models.request import ModelRequest
from remit.store.protocol import Store
from remit.store.records import Query
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.life import is_crash
from remit.testing.model import Call, Say, ScriptedModel
from remit.values.results import Pending
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    calls_of,
    check_request,
    dies,
    ended,
    ended_past,
    facts,
    paused,
    results,
    soon,
)
from tests.journeys.desk import World
from tests.journeys.office import asked, chief, done, long_lived, office, scout
from tests.journeys.test_starting import settle

TEXT = "A-1 refunded 150 and A-2 refunded 150"
GRANT = {"payments:write"}


async def decided(app: App, run: Run) -> Run:
    """The run once everything that it waits with is approved, one call at a time."""
    while run.status == "paused":
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        run = await ended(app, run.id)
    return run


async def live(store: Store, clock: ManualClock, world: World, seen: list[str], user: str) -> Run:
    """One life of a process that starts the user's run unless it exists, and decides."""
    async with app_of(office(world, seen), store, clock, grant=GRANT) as app:
        found = await app.runs(user=user)
        run = found[0].id if found else await app.start("chief", "Refund both", user=user)
        return await decided(app, await ended(app, run))


async def test_what_needs_a_person_inside_waits_in_its_callers_pending(
    store: Store, clock: ManualClock
) -> None:
    world, seen = World(), list[str]()
    async with app_of(office(world, seen), store, clock, grant=GRANT) as app:
        run = await ended(app, await app.start("chief", "Refund both"))
        assert (run.status, run.finish) == ("paused", "approval")
        assert [
            (call.tool, call.arguments["order"], call.within) for call in calls_of(run.pending)
        ] == [("refund", "A-1", ("scout",)), ("refund", "A-2", ("scout",))]
        assert world.entered == Counter(find_order=2)
        run = await decided(app, run)
    assert (run.finish, run.text) == ("answer", TEXT)
    assert sorted(world.effects.values()) == ["A-1:150", "A-2:150"]
    assert max(Counter(seen).values()) == 1


@pytest.mark.parametrize("decision", ["deny", "edit"])
async def test_a_call_inside_is_denied_and_edited_like_any_other(
    store: Store, clock: ManualClock, decision: Literal["deny", "edit"]
) -> None:
    world = World()
    async with app_of(office(world, []), store, clock, grant=GRANT) as app:
        run = await ended(app, await app.start("chief", "Refund both"))
        first, second = calls_of(run.pending)
        if decision == "deny":
            await app.decide(run.id, deny={first.id: "no"}, approve=[second.id], by=STAFF)
        else:
            new = {"order": "A-1", "amount": 20}
            await app.decide(run.id, edit={first.id: new}, approve=[second.id], by=STAFF)
        run = await ended(app, run.id)
        told = [event async for event in app.events(run.id)]
    assert run.finish == "answer"
    if decision == "deny":
        assert list(world.effects.values()) == ["A-2:150"]
        assert "A person refused this call: no" in run.text
    else:
        assert sorted(world.effects.values()) == ["A-1:20", "A-2:150"]
        inner = [event.event for event in told if isinstance(event, SubagentEvent)]
        calls = [each.call for each in inner if isinstance(each, ToolResultEvent)]
        assert {"order": "A-1", "amount": 20} in [call.arguments for call in calls]


async def test_an_edit_is_checked_against_the_tool_of_the_agent_that_called_it(
    store: Store, clock: ManualClock
) -> None:
    """The caller has a tool of the same name that takes other arguments."""

    @tool(approval="always")
    async def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    @tool(name="pay")
    async def other(to: str) -> str:
        """Pays somebody."""
        return f"paid {to}"

    inner = scout([Call("pay", amount=5), Say("done")], [pay])
    agent = chief([Call("scout", task="x"), Say("so")], inner, other)
    async with app_of(agent, store, clock) as app:
        run = await paused(app, agent="chief")
        await app.decide(run.id, edit={run.pending[0].id: {"amount": 7}}, by=STAFF)
        assert (await ended(app, run.id)).finish == "answer"


async def test_letting_an_agent_work_may_need_a_person_too(
    store: Store, clock: ManualClock
) -> None:
    inner = scout([Say("done")]).as_tool(description="Works.", approval="always")
    agent = chief([Call("scout", task="x"), Say("so")], inner)
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("chief", "x"))
        (call,) = calls_of(run.pending)
        assert (call.tool, call.within) == ("scout", ())
        await app.decide(run.id, edit={call.id: {"task": "y"}}, by=STAFF)
        run = await ended(app, run.id)
    assert run.finish == "answer"
    model = inner.agent.model
    assert asked(model.requests[0]) == "y"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_inside_resumes_inside(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    """Killed at each write: what is recorded is not done again, and the end is the same."""
    counting = CrashStore(store, at=None, when=when)
    whole = await live(counting, clock, World(), [], "u_0")
    assert whole.text == TEXT
    assert counting.writes >= 16
    for number in range(1, counting.writes + 1):
        world, seen, user = World(), list[str](), f"u_{number}"
        try:
            run = await live(CrashStore(store, at=number, when=when), clock, world, seen, user)
        except BaseException as error:
            if not is_crash(error):
                raise
            answers, begun = await answered(store, user), len(seen)
            clock.advance(60)
            run = await live(store, clock, world, seen, user)
            assert not answers & set(seen[begun:])
        assert (run.status, run.text, run.usage) == ("succeeded", TEXT, whole.usage)
        assert sorted(world.effects.values()) == ["A-1:150", "A-2:150"]
        assert len(set(world.keys)) == 4


async def answered(store: Store, user: str) -> set[str]:
    """The model calls that are recorded of the user's run, as `office` names them."""
    found = set()
    for row in await store.find(Query(user=user)):
        known = [decode(entry.body) for entry in await store.read(row.id)]
        for fact in known:
            if not isinstance(fact, Stepped) or not fact.name.endswith("/think"):
                continue
            inner, turn = "/agent/" in fact.name, fact.name.split("/")[-2].removeprefix("turn:")
            order = f"A-{int(fact.name.split('/')[1].removeprefix('call:')) + 1}" if inner else ""
            found.add(f"scout:{order}:{turn}" if inner else f"chief:Refund both:{turn}")
    return found


async def test_a_call_inside_that_may_have_happened_waits_for_a_person(
    store: Store, clock: ManualClock
) -> None:
    begun, let_go, count = asyncio.Event(), asyncio.Event(), Counter[str]()

    @tool(repeat="ask")
    async def pay(amount: int, ctx: ToolContext[Any]) -> str:
        """Pays."""
        count[ctx.idempotency_key] += 1
        begun.set()
        await let_go.wait()
        return f"paid {amount}"

    def agent() -> Agent[Any, Any]:
        inner = scout(
            long_lived(lambda request: Say("ok") if done(request) else Call("pay", amount=5)),
            [pay],
        )
        lead = long_lived(lambda request: Say("so") if done(request) else Call("scout", task="x"))
        return chief(lead, inner)

    dying, ids = CrashStore(store, at=None), []

    async def life() -> None:
        async with app_of(agent(), dying, clock) as app:
            ids.append(await app.start("chief", "x"))
            await soon(begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(60)
    let_go.set()
    async with app_of(agent(), store, clock) as app:
        run = await ended(app, ids[0])
        (call,) = calls_of(run.pending)
        assert (call.doubt, call.within, sum(count.values())) == (True, ("scout",), 1)
        await app.decide(ids[0], approve=[call.id], by=STAFF)
        run = await ended(app, ids[0])
        difference = await app.replay(ids[0])
    assert run.finish == "answer"
    assert list(count.values()) == [2]
    assert difference is None


async def recorded(store: Store, clock: ManualClock) -> list[tuple[int, AnyFact]]:
    run = await live(store, clock, World(), [], "u_1")
    return await facts_of(store, run.id)


async def test_what_agents_did_inside_replays_without_their_models_and_tools(
    store: Store, clock: ManualClock
) -> None:
    known = await recorded(store, clock)
    world, seen = World(), list[str]()
    agent = office(world, seen)
    program = AgentProgram(agent.plan(agent.granted))
    for end in range(1, len(known) + 1):
        assert await replay(program, known[:end]) is None, end
    assert (world.entered, seen) == (Counter(), [])


async def test_a_replay_tells_where_an_agent_inside_would_go_another_way(
    store: Store, clock: ManualClock
) -> None:
    known = await recorded(store, clock)
    agent = office(World(), [])
    (found,) = agent.tools
    assert isinstance(found.agent, Agent)  # type: ignore[attr-defined]
    inner = found.agent.replace(budget=changed(found.agent.budget, turns=1))  # type: ignore[attr-defined]
    other = agent.replace(tools=[inner.as_tool(description=found.description)])
    difference = await replay(AgentProgram(other.plan(other.granted)), known)
    assert isinstance(difference, Difference)
    assert "/agent/turn:" in difference.recorded


async def test_what_ended_an_agent_from_outside_is_no_difference(
    store: Store, clock: ManualClock
) -> None:
    from remit.errors import ProviderError

    agent = chief(
        [Call("scout", task="x"), Say("so")], scout([ProviderError(message="x", status=400)])
    )
    async with app_of(agent, store, clock) as app:
        run = await soon(app.run("chief", "x"))
        assert await app.replay(run.id) is None


async def test_another_version_of_an_agent_does_not_go_on_in_a_call(
    store: Store, clock: ManualClock
) -> None:
    def agent(version: str, script: list[Any]) -> Agent[Any, Any]:
        return chief([Call("scout", task="x")], scout(script, Desk().tools(), version=version))

    async with app_of(agent("1", [Call("pay_out", amount=1)]), store, clock) as app:
        run = await paused(app, agent="chief")
    lead = chief([], scout([], Desk().tools(), version="2"))
    async with app_of(lead, store, clock) as app:
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        while (found := await app.get(run.id)).blocked_reason is None:
            await settle()
    assert "scout@1 is to go on in scout, and here is scout@2" in found.blocked_reason


async def test_an_agent_that_was_renamed_goes_on(store: Store, clock: ManualClock) -> None:
    inner = scout([Call("pay_out", amount=1)], Desk().tools())
    async with app_of(chief([Call("scout", task="x")], inner), store, clock) as app:
        run = await paused(app, agent="chief")
    desk = Desk()
    renamed = scout([Say("paid")], desk.tools(), name="ranger", aliases=["scout"])
    tool = renamed.as_tool(description="Works.", name="scout")
    async with app_of(chief([Say("so")], tool), store, clock) as app:
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        assert (await ended_past(app, run.id)).text == "so"
    assert desk.ran == [("pay_out", 1)]


async def test_events_tell_the_whole_of_an_agent_inside(store: Store, clock: ManualClock) -> None:
    desk = Desk()

    @tool
    async def slow(ctx: ToolContext[Any]) -> str:
        """Takes a while."""
        ctx.progress("half")
        return "done"

    inner = scout([Call("slow"), Say("It rains.", pieces=2)], [slow, *desk.tools()])
    agent = chief([Call("scout", task="x"), Say("so")], inner)
    async with app_of(agent, store, clock) as app:
        run = await app.start("chief", "x")
        told = [event async for event in app.events(run)]
        again = [event async for event in app.events(run)]
    known = [event for event in told if isinstance(event, SubagentEvent)]
    assert [event.event.kind for event in known] == [
        "tool_call",
        "usage",
        "turn",
        "tool_result",
        "usage",
        "turn",
        "done",
    ]
    call = next(e.result for e in told if isinstance(e, ToolResultEvent))
    assert {(event.agent, event.call_id, event.kind) for event in known} == {
        ("scout", call.call_id, "subagent")
    }
    ends = [event.event for event in known if isinstance(event.event, DoneEvent)]
    assert ends[0].result is not None
    assert (ends[0].result.text, ends[0].result.finish) == ("It rains.", "answer")
    assert ends[0].result.turns[-1].usage_id == f"{run}/turn:0/call:0/agent/turn:1/think"
    passing = [event.event for event in told if isinstance(event, SubagentDeltaEvent)]
    assert {type(event) for event in passing} <= {TextEvent, ToolProgressEvent}
    assert [e for e in again if isinstance(e, SubagentEvent)] == known
    assert len({event.id for event in told if event.id is not None}) == len(
        [event for event in told if event.id is not None]
    )


async def test_a_reader_without_a_store_sees_what_passes_inside() -> None:
    told: list[Any] = []
    inner = scout([Say("It rains.", pieces=["It ", "rains."])])
    await chief([Call("scout", task="x"), Say("so")], inner).run("x", on_event=told.append)
    pieces = [
        event.event.text
        for event in told
        if isinstance(event, SubagentDeltaEvent) and isinstance(event.event, TextEvent)
    ]
    assert pieces == ["It ", "rains."]
    turns = [e.event for e in told if isinstance(e, SubagentEvent) and e.event.kind == "turn"]
    assert isinstance(turns[0], TurnEvent)


async def test_a_pause_is_told_once_for_all_agents(store: Store, clock: ManualClock) -> None:
    async with app_of(office(World(), []), store, clock, grant=GRANT) as app:
        run = await ended(app, await app.start("chief", "Refund both"))
        run = await decided(app, run)
        told = [event async for event in app.events(run.id)]
    pauses = [event for event in told if isinstance(event, PendingEvent)]
    assert [len(pause.pending) for pause in pauses] == [2]
    assert [event.kind for event in told].count("done") == 1
    assert all(isinstance(call, Pending) for pause in pauses for call in pause.pending)


async def test_every_request_of_a_killed_office_is_one_that_providers_take(
    store: Store, clock: ManualClock
) -> None:
    requests: list[ModelRequest] = []
    agent = office(World(), [])
    (found,) = agent.tools
    for model in (agent.model, found.agent.model):  # type: ignore[attr-defined]
        assert isinstance(model, ScriptedModel)
        model.requests = requests
    async with app_of(agent, store, clock, grant=GRANT) as app:
        await decided(app, await ended(app, await app.start("chief", "Refund both")))
    for request in requests:
        check_request(request)


async def test_older_readers_are_told_that_they_do_not_know_such_a_run(
    store: Store, clock: ManualClock
) -> None:
    inner = scout([Say("done")])
    async with app_of(chief([Call("scout", task="x"), Say("so")], inner), store, clock) as app:
        run = await soon(app.run("chief", "x"))
    first = next(e for e in await store.read(run.id) if b"agent/asked" in e.body)
    assert first.format == 2
    assert all(format_of(fact) for fact in await facts(store, run.id))
    assert [message.text for message in results(run.messages)] == ["done"]
