"""An agent that works inside another's call: its own conversation, its caller's run and bounds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from remit import Budget, ToolContext, tool
from remit.agent.hooks import HookContext, Hooks, Left, ToolResult
from remit.errors import ConfigError, ConnectionFailedError, ProviderError
from remit.kernel.facts import Started, Stepped
from remit.models.pricing import Pricing
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.models.retry import Retry
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Answer, Call, Say, ScriptedModel
from remit.values.usage import Usage
from tests.journeys.clerk import Desk, app_of, ended, facts, results, soon
from tests.journeys.office import asked, chief, done, long_lived, scout

PENNY = Card(pricing=Pricing(input=0, output=10_000))
"""An output token costs a hundredth."""


def paid(*parts: Say | Call, output: int) -> Answer:
    """An answer of so many output tokens."""
    return Answer(*parts, usage=Usage(output_tokens=output))


def priced(script: list[Any], name: str = "scripted:model") -> ScriptedModel:
    return ScriptedModel(script, name=name, card=PENNY)


async def test_an_agent_reads_its_task_alone_and_its_answer_is_the_result(
    store: Store, clock: ManualClock
) -> None:
    inner = ScriptedModel([Say("It rains.")])
    outer = ScriptedModel([Call("scout", task="How is the weather?"), Say("Take a coat.")])
    async with app_of(chief(outer, scout(inner)), store, clock) as app:
        run = await soon(app.run("chief", "A secret of the caller's"))
    assert [message.text for message in run.messages if message.text] == [
        "A secret of the caller's",
        "It rains.",
        "Take a coat.",
    ]
    (request,) = inner.requests
    assert [message.text for message in request.messages] == ["How is the weather?"]
    assert (run.finish, len(run.turns)) == ("answer", 2)


async def test_without_a_store_it_is_the_same() -> None:
    inner = scout([Say("It rains.")])
    result = await chief([Call("scout", task="Weather?"), Say("Coat.")], inner).run("x")
    assert [message.text for message in results(result.messages)] == ["It rains."]
    assert (result.finish, result.usage.input_tokens) == ("answer", 300)


async def test_what_it_uses_counts_in_its_callers_run_and_no_turn_does(
    store: Store, clock: ManualClock
) -> None:
    inner = priced([paid(Call("look", number=1), output=2), paid(Say("seen"), output=3)])
    outer = priced([paid(Call("scout", task="x"), output=5), paid(Say("so"), output=7)])
    agent = chief(outer, scout(inner, Desk().tools()), budget=Budget(turns=2))
    async with app_of(agent, store, clock) as app:
        run = await soon(app.run("chief", "x"))
    assert (run.finish, len(run.turns)) == ("answer", 2)
    assert (run.usage.output_tokens, run.usage.cost) == (17, Decimal("0.17"))


@pytest.mark.parametrize(
    ("bound", "finish"),
    [({"cost": "0.10"}, "budget"), ({"tokens": 12}, "tokens")],
    ids=["cost", "tokens"],
)
async def test_what_its_caller_has_left_bounds_it(
    store: Store, clock: ManualClock, bound: dict[str, Any], finish: str
) -> None:
    """Its own budget would allow more, and its caller is stopped by it, too."""
    endless = [paid(Call("look", number=number), output=4) for number in range(9)]
    inner = long_lived(lambda request: endless[len(done(request))])
    inner.card = PENNY
    outer = priced([paid(Call("scout", task="x"), output=1)])
    agent = chief(outer, scout(inner, Desk().tools()), budget=Budget(turns=9, **bound))
    async with app_of(agent, store, clock) as app:
        run = await soon(app.run("chief", "x"))
    assert (run.status, run.finish) == ("failed", finish)
    assert len(inner.requests) == 3
    (result,) = results(run.messages)
    assert (result.status, finish in result.text) == ("error", True)
    assert run.usage.output_tokens == 13


async def test_its_own_budget_bounds_it_and_its_caller_goes_on(
    store: Store, clock: ManualClock
) -> None:
    inner = priced([paid(Say("I look."), Call("look", number=1), output=4)])
    own = scout(inner, Desk().tools(), budget=Budget(turns=1))
    outer = priced([paid(Call("scout", task="x"), output=1), paid(Say("Alone then."), output=1)])
    async with app_of(chief(outer, own), store, clock) as app:
        run = await soon(app.run("chief", "x"))
    (result,) = results(run.messages)
    assert result.status == "error"
    assert "without an answer (turns)" in result.text
    assert "I look." in result.text
    assert (run.finish, run.text) == ("answer", "Alone then.")


async def test_its_hooks_are_told_what_is_left_to_it_by_itself_and_its_callers(
    store: Store, clock: ManualClock
) -> None:
    told: list[Left] = []

    def prepare(ctx: HookContext) -> None:
        told.append(ctx.left)

    own = scout(
        priced([paid(Say("x"), output=1)]),
        hooks=Hooks(prepare_turn=prepare),
        budget=Budget(turns=3, cost="0.50", tokens=70),
    )
    mid = chief(
        priced([paid(Call("scout", task="x"), output=4), paid(Say("x"), output=1)]),
        own,
        name="mid",
        budget=Budget(turns=5, tokens=60),
    )
    top = chief(
        priced([paid(Call("mid", task="x"), output=5), paid(Say("x"), output=1)]),
        mid,
        budget=Budget(turns=9, cost="0.40"),
    )
    async with app_of(top, store, clock) as app:
        await soon(app.run("chief", "x"))
    assert told == [Left(turns=3, cost=Decimal("0.31"), tokens=56)]


async def test_agents_side_by_side_share_what_their_caller_has_left(
    store: Store, clock: ManualClock
) -> None:
    """Each may cross the bound with the call that it is in, and none begins another."""
    calls: list[str] = []

    def look(request: ModelRequest) -> Answer:
        calls.append(asked(request))
        return paid(Call("look", number=len(calls)), output=4)

    inner = long_lived(look)
    inner.card = PENNY
    outer = priced([paid(*[Call("scout", task=f"t{n}") for n in range(4)], output=1)])
    agent = chief(outer, scout(inner, Desk().tools()), budget=Budget(turns=9, cost="0.30"))
    async with app_of(agent, store, clock) as app:
        run = await soon(app.run("chief", "x"))
        assert await app.replay(run.id) is None
    assert (run.finish, len(results(run.messages))) == ("budget", 4)
    assert run.usage.cost == Decimal("0.01") + len(calls) * Decimal("0.04")
    assert len(calls) <= 8 + 3


async def test_it_can_do_no_more_than_its_caller_may(store: Store, clock: ManualClock) -> None:
    seen: list[frozenset[str]] = []

    @tool(needs={"mail"})
    async def send(ctx: ToolContext[Any]) -> str:
        """Sends."""
        seen.append(ctx.grant)
        return "sent"

    @tool(needs={"money"})
    async def pay(ctx: ToolContext[Any]) -> str:
        """Pays."""
        raise AssertionError("the caller has no money")

    inner = ScriptedModel([[Call("send"), Call("pay")], Say("done")])
    own = scout(inner, [send, pay], grant={"mail", "money"})
    outer = ScriptedModel([Call("scout", task="x"), Say("done")])
    agent = chief(outer, own, grant={"mail", "files"})
    async with app_of(agent, store, clock, grant={"mail", "money", "files"}) as app:
        await soon(app.run("chief", "x"))
    assert seen == [frozenset({"mail"})]
    assert [tool.name for tool in inner.requests[0].tools] == ["send"]
    sent, refused = done(inner.requests[1])
    assert (sent.status, refused.status) == ("ok", "refused")


async def test_a_cancel_of_its_caller_stops_it(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    inner = scout([Call("hold", number=1)], desk.tools())
    async with app_of(chief([Call("scout", task="x")], inner), store, clock) as app:
        run = await app.start("chief", "x")
        await soon(desk.held.wait())
        await app.cancel(run)
        found = await ended(app, run)
        assert desk.cut.is_set()
    assert found.status == "cancelled"
    (result,) = results(found.messages)
    assert result.status == "not_run"


async def test_the_end_of_its_callers_time_ends_it_and_keeps_what_it_was_saying() -> None:
    inner = ScriptedModel([[Say("Half", pieces=["Half"]), Say("never", delay=30)]], card=PENNY)
    agent = chief(
        priced([paid(Call("scout", task="x"), output=1)]),
        scout(inner),
        budget=Budget(turns=5, seconds=0.6),
    )
    result = await agent.run("x")
    assert result.finish == "seconds"
    assert result.usage.estimated
    (told,) = results(result.messages)
    assert (told.status, "Half" in told.text) == ("error", True)


@pytest.mark.parametrize(
    "error", [ProviderError(message="overloaded", status=529), ConnectionFailedError(reason="cut")]
)
async def test_a_failing_provider_of_its_own_is_an_error_that_its_caller_reads(
    store: Store, clock: ManualClock, error: Exception
) -> None:
    outer = [Call("scout", task="x"), Say("Alone then.")]
    inner = scout([error], retry=Retry(attempts=1))
    async with app_of(chief(outer, inner), store, clock) as app:
        run = await soon(app.run("chief", "x"))
        names = [fact for fact in await facts(store, run.id) if isinstance(fact, Stepped)]
    (result,) = results(run.messages)
    assert (result.status, run.text) == ("error", "Alone then.")
    assert "overloaded" not in result.text
    assert str(error) in str(next(f.value for f in names if f.name.endswith("agent/end")))


async def test_every_agent_lends_its_tools_what_the_app_lends_its_runs(
    store: Store, clock: ManualClock
) -> None:
    lent, built = [], []

    @tool
    async def use(ctx: ToolContext[Any]) -> str:
        """Uses it."""
        lent.append((ctx.deps, ctx.user, ctx.tenant, ctx.run_id))
        return "used"

    def deps(user: str | None, tenant: str | None) -> str:
        built.append(user)
        return f"for {user}"

    inner = scout([Call("use"), Say("done")], [use])
    agent = chief([Call("scout", task="x"), Say("so")], inner)
    async with app_of(agent, store, clock, deps=deps) as app:
        run = await soon(app.run("chief", "x", user="u_1", tenant="t_1"))
    assert lent == [("for u_1", "u_1", "t_1", run.id)]
    assert built == ["u_1"]


async def test_agents_work_three_deep_and_no_deeper() -> None:
    keys: list[str] = []

    @tool
    async def use(ctx: ToolContext[Any]) -> str:
        """Uses it."""
        keys.append(ctx.idempotency_key.partition("/")[2])
        return "used"

    third = scout([Call("use"), Say("three")], [use], name="third")
    second = chief([Call("third", task="x"), Say("two")], third, name="second")
    first = chief([Call("second", task="x"), Say("one")], second, name="first")
    result = await chief([Call("first", task="x"), Say("so")], first).run("x")
    assert result.finish == "answer"
    assert keys == ["turn:0/call:0/agent/" * 3 + "0/0"]
    assert result.usage.input_tokens == 800
    with pytest.raises(ConfigError, match="the most is 3"):
        chief([], first).as_tool(description="Too deep.")


async def test_the_end_of_its_own_time_is_an_error_that_its_caller_reads(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    inner = scout([Call("hold", number=1)], desk.tools(), budget=Budget(turns=5, seconds=0.3))
    outer = [Call("scout", task="x"), Say("Alone then.")]
    async with app_of(chief(outer, inner), store, clock) as app:
        run = await soon(app.run("chief", "x"))
        assert await app.replay(run.id) is None
    (result,) = results(run.messages)
    assert (result.status, "(seconds)" in result.text) == ("error", True)
    assert run.text == "Alone then."


async def test_a_call_that_a_hook_refuses_lets_nobody_work() -> None:
    heard: list[str] = []

    def before(ctx: Any, call: Any) -> ToolResult | None:
        heard.append(call.arguments["task"])
        return ToolResult("Not him.", "refused") if call.arguments["task"] == "a" else None

    def after(ctx: Any, call: Any, result: ToolResult) -> ToolResult:
        return ToolResult(result.text.upper())

    inner = scout([Say("done")])
    outer = [Call("scout", task="a"), Call("scout", task="b"), Say("so")]
    agent = chief(outer, inner, hooks=Hooks(before_tool=before, after_tool=after))
    result = await agent.run("x")
    assert [message.text for message in results(result.messages)] == ["Not him.", "DONE"]
    assert heard == ["a", "b"]


async def test_no_two_agents_of_a_run_make_the_same_call_ids_and_keys(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    inner = long_lived(lambda request: Call("look", number=1) if not done(request) else Say("x"))
    outer = [[Call("scout", task="a"), Call("scout", task="b")], Say("so")]
    async with app_of(chief(outer, scout(inner, desk.tools())), store, clock) as app:
        await soon(app.run("chief", "x"))
    assert len(set(desk.keys)) == 2
    ids = {call.call_id for request in inner.requests for call in done(request)}
    assert len(ids) == 2


async def test_a_message_to_the_run_is_read_by_its_caller(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    inner = ScriptedModel([Call("hold", number=1), Say("held")])
    outer = ScriptedModel([Call("scout", task="x"), Say("so")])
    async with app_of(chief(outer, scout(inner, desk.tools())), store, clock) as app:
        run = await app.start("chief", "x")
        await soon(desk.held.wait())
        await app.send(run, "Hurry.")
        desk.opened.set()
        found = await ended(app, run)
    assert found.finish == "answer"
    assert "Hurry." in [message.text for message in outer.requests[1].messages]
    assert "Hurry." not in [message.text for message in inner.requests[1].messages]
    assert not [fact for fact in await facts(store, run) if isinstance(fact, Started)]
