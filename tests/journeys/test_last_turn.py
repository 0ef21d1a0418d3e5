"""Before its budget ends an agent may answer with what it has, in one turn without tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import Agent, App, Budget, Pricing, Result, Usage, tool
from remit.agent.hooks import Hooks, TurnPlan
from remit.agent.loop import AgentProgram
from remit.host.readers import facts_of
from remit.kernel.replay import replay
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import Answer, Call, Item, Say, ScriptedModel
from remit.values.errors import ConfigError
from remit.values.messages import ToolMessage, UserMessage

PAID = Card(pricing=Pricing(input=10_000, output=0))


@tool
async def look(number: int) -> str:
    """Looks at a number."""
    return "nothing"


def looks(turn: int) -> Item:
    return Answer(Call("look", number=turn), usage=Usage(input_tokens=10, output_tokens=0))


def model_of(turns: int, last: Item | None = None) -> ScriptedModel:
    end = last or Answer(Say("No more than this."), usage=Usage(input_tokens=10))
    return ScriptedModel([*[looks(turn) for turn in range(turns)], end], card=PAID)


def agent(model: ScriptedModel, budget: Budget, **changes: Any) -> Agent[Any, Any]:
    options: dict[str, Any] = {"tools": [look], "on_limit": "answer", "name": "a"}
    return Agent(**(options | changes | {"model": model, "budget": budget}))


async def ran(model: ScriptedModel, budget: Budget, **changes: Any) -> Result:
    return await agent(model, budget, **changes).run("Go.")


BUDGETS = {
    "turns": (Budget(turns=3), 2),
    "cost": (Budget(turns=9, cost="0.45"), 3),
    "tokens": (Budget(turns=9, tokens=35), 2),
    "tool_calls": (Budget(turns=9, tool_calls=2), 2),
}


@pytest.mark.parametrize(("budget", "before"), BUDGETS.values(), ids=BUDGETS)
async def test_the_last_turn_inside_the_budget_has_no_tools_and_answers(
    budget: Budget, before: int
) -> None:
    model = model_of(before)

    result = await ran(model, budget)

    assert (result.finish, result.output) == ("answer", "No more than this.")
    assert [len(request.tools) for request in model.requests] == [1] * before + [0]
    last = model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert "last turn" in last.text
    assert not any(isinstance(m, UserMessage) and "last turn" in m.text for m in result.messages)
    assert budget.tokens is None or result.usage.tokens <= budget.tokens
    assert budget.cost is None or (result.usage.cost or 0) <= budget.cost  # type: ignore[operator]  # a Decimal by now


@pytest.mark.parametrize(
    ("budget", "before", "finish"),
    [
        (Budget(turns=3), 2, "turns"),
        (Budget(turns=9, cost="0.45"), 3, "budget"),
        (Budget(turns=9, tool_calls=2), 2, "tool_calls"),
    ],
)
async def test_a_model_that_does_not_answer_in_it_gets_no_other(
    budget: Budget, before: int, finish: str
) -> None:
    result = await ran(model_of(before, looks(99)), budget)

    assert (result.finish, len(result.turns)) == (finish, before + 1)
    last = result.messages[-1]
    assert isinstance(last, ToolMessage)
    assert last.status in ("refused", "not_run")


async def test_a_budget_that_is_spent_has_no_last_turn() -> None:
    result = await ran(ScriptedModel([looks(0)], card=PAID), Budget(turns=9, tokens=5))

    assert result.finish == "tokens"


async def test_an_answer_before_the_end_needs_no_last_turn() -> None:
    model = model_of(1)

    result = await ran(model, Budget(turns=9))

    assert result.finish == "answer"
    assert [len(request.tools) for request in model.requests] == [1, 1]


async def test_a_hook_gives_the_last_turn_no_tools() -> None:
    model = model_of(1)
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(tools=[look], tool_choice="required"))

    await ran(model, Budget(turns=2), hooks=hooks)

    assert [(len(r.tools), r.tool_choice) for r in model.requests] == [(1, "required"), (0, "auto")]


@pytest.mark.parametrize("wrong", ["continue", True, None])
def test_another_word_for_it_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="on_limit"):
        agent(ScriptedModel([]), Budget(turns=1), on_limit=wrong)


def endless(seen: set[tuple[int, int]]) -> ScriptedModel:
    def answer(request: ModelRequest) -> Any:
        done = sum(isinstance(m, ToolMessage) for m in request.messages)
        seen.add((done, len(request.tools)))
        return looks(done) if request.tools else Say("No more than this.")

    model = ScriptedModel([answer] * 50, card=PAID)
    model.assert_used = lambda: None  # type: ignore[method-assign]  # a script of any length
    return model


async def test_a_run_that_is_killed_at_any_write_has_one_last_turn(
    store: Store, clock: ManualClock
) -> None:
    budget = Budget(turns=3)

    async def live(store: Store, user: str, seen: set[tuple[int, int]]) -> Any:
        async with App([agent(endless(seen), budget)], store=store, clock=clock) as app:
            found = await app.runs(user=user)
            run = found[0].id if found else await app.start("a", "Go.", user=user)
            return await asyncio.wait_for(app.wait(run), 10)

    counting = CrashStore(store, at=None)
    await live(counting, "u_0", set())
    for number in range(1, counting.writes + 1):
        seen: set[tuple[int, int]] = set()
        try:
            await live(CrashStore(store, at=number, when="after"), f"u_{number}", seen)
        except BaseException as error:
            if not isinstance(error, Crash | BaseExceptionGroup | asyncio.CancelledError):
                raise
        clock.advance(60)
        run = await live(store, f"u_{number}", seen)
        assert (run.finish, run.output, len(run.turns)) == ("answer", "No more than this.", 3)
        assert seen == {(0, 1), (1, 1), (2, 0)}
        facts = await facts_of(store, run.id)
        still = AgentProgram(agent(ScriptedModel([]), budget).plan(frozenset()))
        assert await replay(still, facts) is None
