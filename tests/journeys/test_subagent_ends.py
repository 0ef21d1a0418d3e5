"""What becomes of an agent inside where something around it ends, fails or is gone."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from remit import Agent, Budget, ToolContext, tool
from remit.agent.hooks import HookContext, Hooks, Left
from remit.errors import ConnectionFailedError, ProviderError
from remit.models.request import ModelRequest, TextChunk
from remit.options import Retry
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say, ScriptedModel
from remit.tools.tool import Tool
from tests.journeys.clerk import STAFF, Desk, app_of, calls_of, paused, results, soon
from tests.journeys.office import chief, scout
from tests.journeys.test_starting import settle
from tests.journeys.test_subagents import PENNY, paid, priced


async def test_an_open_call_of_an_agent_in_a_history_is_not_begun_again() -> None:
    """How far it came is in no history, and another go would have other idempotency keys."""
    desk = Desk()
    inner = scout([[Call("look", number=1), Call("pay_out", amount=1)]], desk.tools(), name="scout")
    first = await chief([Call("scout", task="x")], inner).run("Go")
    assert first.finish == "approval"
    agent = chief([Say("I look first.")], scout([], desk.tools()))
    result = await agent.run(None, history=first.messages)
    assert desk.ran == [("look", 1)]
    assert result.text == "I look first."
    (told,) = results(result.messages)
    assert told.status == "not_run"
    assert "an agent may have worked in it" in told.text
    assert "may have taken effect" in told.text


@tool
async def other(task: str) -> str:
    """Something else."""
    raise AssertionError("an agent is at work in this call")


@pytest.mark.parametrize(
    "tools",
    [[], [other], [scout([]).as_tool(description="Works.", name="another")]],
    ids=["no tool", "another tool of the name", "another agent"],
)
async def test_a_run_whose_agent_is_gone_waits_for_the_code_that_has_it(
    store: Store, clock: ManualClock, tools: list[Tool]
) -> None:
    inner = scout([Call("pay_out", amount=1)], Desk().tools())
    works = inner.as_tool(description="Works.", name="other")
    agent = chief([Call("other", task="x")], works)
    async with app_of(agent, store, clock) as app:
        run = await paused(app, agent="chief")
    async with app_of(chief([], *tools), store, clock) as app:
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        while (found := await app.get(run.id)).blocked_reason is None:
            await settle()
    assert "an agent is to go on in other" in (found.blocked_reason or "")


@pytest.mark.parametrize(
    "error", [ProviderError(message="moderation is down"), ConnectionFailedError(reason="down")]
)
async def test_what_a_hook_inside_raises_ends_the_run_as_it_does_anywhere(
    store: Store, clock: ManualClock, error: Exception
) -> None:
    def before(ctx: HookContext, call: Any) -> None:
        raise error

    inner = scout([Call("look", number=1)], Desk().tools(), hooks=Hooks(before_tool=before))
    async with app_of(chief([Call("scout", task="x")], inner), store, clock) as app:
        run = await soon(app.run("chief", "x"))
    assert (run.status, run.finish) == ("failed", None)
    assert str(error) in (run.error or "")


async def test_its_models_failure_is_raised_to_nobody_else(
    store: Store, clock: ManualClock
) -> None:
    """What was billed is recorded, and what the caller reads comes from the record."""
    cut = ConnectionFailedError(reason="cut")
    inner = scout([cut], retry=Retry(attempts=1))
    async with app_of(chief([Call("scout", task="x"), Say("so")], inner), store, clock) as app:
        run = await soon(app.run("chief", "x"))
        assert await app.replay(run.id) is None
    assert (run.text, run.usage.estimated) == ("so", True)


class Held:
    """A model whose answer comes when it is let go, a piece at first."""

    name = "scripted:held"
    card = PENNY

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.asked = 0

    async def stream(self, request: ModelRequest) -> Any:
        self.asked += 1
        yield TextChunk("Half")
        self.begun.set()
        await asyncio.Event().wait()


async def test_nothing_is_asked_once_the_callers_time_is_over_whatever_was_recorded() -> None:
    """The recorded times may come to a little less than the limit."""
    held = Held()
    lead = priced([paid(Call("scout", task="x"), output=1)])
    agent: Agent[Any, Any] = chief(
        lead, scout(held, budget=Budget(turns=5)), budget=Budget(turns=5, seconds=0.5)
    )
    for _ in range(3):
        lead.requests.clear()
        result = await agent.run("x")
        assert (result.finish, len(lead.requests)) == ("seconds", 1)
        (told,) = results(result.messages)
        assert "Half" in told.text


async def test_the_ledger_names_the_innermost_agent_of_three(
    store: Store, clock: ManualClock
) -> None:
    third = scout(priced([paid(Say("three"), output=3)]), name="third")
    second = chief(
        priced([paid(Call("third", task="x"), output=5), paid(Say("two"), output=7)]),
        third,
        name="second",
    )
    first = priced([paid(Call("second", task="x"), output=11), paid(Say("one"), output=13)])
    async with app_of(chief(first, second), store, clock) as app:
        run = await soon(app.run("chief", "x"))
        spent = {each.by["agent"]: each.cost for each in await app.spend("agent")}
    assert spent == {
        "chief": Decimal("0.24"),
        "second": Decimal("0.12"),
        "third": Decimal("0.03"),
    }
    assert sum(spent.values()) == run.usage.cost


async def test_hooks_inside_are_told_of_their_callers_time() -> None:
    told: list[Left] = []

    @tool
    async def slow(ctx: ToolContext[Any]) -> str:
        """Takes a while."""
        await asyncio.sleep(0.05)
        return "done"

    inner = scout(
        [Call("slow"), Say("x")], [slow], hooks=Hooks(prepare_turn=lambda c: told.append(c.left))
    )
    agent = chief([Call("scout", task="x"), Say("x")], inner, budget=Budget(turns=5, seconds=60))
    await agent.run("x")
    first, second = [each.seconds for each in told]
    assert first is not None
    assert second is not None
    assert second <= first - 0.05 <= 60


async def test_a_failed_call_of_a_model_that_a_hook_named_is_raised_as_it_was(
    store: Store, clock: ManualClock
) -> None:
    from remit.agent.hooks import TurnPlan
    from remit.models.catalogue import Catalogue
    from remit.models.protocol import Card

    error = ProviderError(status=400, code="odd", message="no", request_id="req_1")
    named = ScriptedModel([error], name="named:model")
    catalogue = Catalogue({"named:model": Card()}, providers={"named": lambda name, card: named})
    agent = scout(
        [],
        catalogue=catalogue,
        hooks=Hooks(prepare_turn=lambda ctx: TurnPlan(model="named:model")),
    )
    with pytest.raises(ProviderError) as caught:
        await agent.run("x")
    assert caught.value is error


async def test_a_call_of_an_agent_waits_for_the_same_person_twice_where_both_ask(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    inner = scout([Call("pay_out", amount=1), Say("paid")], desk.tools())
    gated = inner.as_tool(description="Works.", approval="always")
    async with app_of(chief([Call("scout", task="x"), Say("so")], gated), store, clock) as app:
        run = await paused(app, agent="chief")
        asked = []
        while run.status == "paused":
            (call,) = calls_of(run.pending)
            asked.append((call.tool, call.within))
            await app.decide(run.id, approve=[call.id], by=STAFF)
            run = await soon(app.wait(run.id))
        assert await app.replay(run.id) is None
    assert asked == [("scout", ()), ("pay_out", ("scout",))]
    assert run.text == "so"
