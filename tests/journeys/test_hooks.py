"""What the app says on the way holds, for every call, in every process, once for each asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import pytest

from remit import Agent, App, Budget, Caller, Catalogue, Run, ToolContext, tool
from remit.agent.hooks import HookContext, Hooks, ToolResult, TurnPlan
from remit.agent.loop import AgentProgram
from remit.host.readers import facts_of
from remit.kernel.facts import Stepped
from remit.kernel.replay import replay
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import FREE, Call, Item, Say, ScriptedModel
from remit.values import content
from remit.values.errors import ConfigError, StoreError
from remit.values.events import Event, ToolResultEvent
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from remit.values.results import Turn

STAFF = Caller(user="staff_1")


@tool
async def look(number: int) -> str:
    """Looks at a number."""
    return f"secret {number}"


@tool
async def count(number: int) -> str:
    """Counts."""
    return str(number)


def agent(items: Any, hooks: Hooks, **changes: Any) -> Agent[Any, Any]:
    model = ScriptedModel(items) if isinstance(items, list) else items
    options: dict[str, Any] = {
        "name": "a",
        "model": model,
        "instructions": "Help.",
        "tools": [look, count],
        "budget": Budget(turns=9, tokens=100_000),
        "hooks": hooks,
    }
    return Agent(**(options | changes))


def each_way(hook: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """The hook, sync or async."""
    if not is_async:
        return hook

    async def waiting(*given: Any) -> Any:
        await asyncio.sleep(0)
        return hook(*given)

    return waiting


both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def results(run: Any) -> list[tuple[str, str]]:
    return [(m.text, m.status) for m in run.messages if isinstance(m, ToolMessage)]


@both_ways
async def test_hooks_that_say_nothing_change_nothing(is_async: bool) -> None:
    seen: list[str] = []

    def says(what: str) -> Callable[..., Any]:
        return each_way(lambda *given: seen.append(what), is_async)

    hooks = Hooks(
        prepare_turn=says("prepare"),
        before_tool=says("before"),
        after_tool=says("after"),
        on_turn=says("turn"),
        on_answer=says("answer"),
    )
    script: list[Item] = [Call("look", number=1), Say("Done")]

    result = await agent(script, hooks).run("Go.")
    plain = await agent(list(script), Hooks()).run("Go.")

    assert (result.text, result.finish) == (plain.text, plain.finish)
    assert results(result) == results(plain)
    assert seen == ["prepare", "before", "after", "turn", "prepare", "turn", "answer"]


async def test_a_hook_knows_the_run() -> None:
    seen: list[HookContext] = []
    budget = Budget(turns=3, cost="1", tool_calls=5, tokens=1000, seconds=60)
    script: list[Item] = [Call("look", number=1), Say("Done")]

    await agent(script, Hooks(prepare_turn=seen.append), budget=budget).run(
        "Go.", user="u_1", tenant="t_1", deps={"a": 1}
    )

    first, second = seen
    assert (first.turn, second.turn, first.phase) == (0, 1, None)
    assert (first.user, first.tenant, first.deps) == ("u_1", "t_1", {"a": 1})
    assert [len(context.messages) for context in seen] == [1, 3]
    assert (first.usage.tokens, second.usage.tokens) == (0, 120)
    assert (first.left.turns, first.left.cost, first.left.tool_calls) == (3, Decimal(1), 5)
    assert (second.left.turns, second.left.tokens, second.left.tool_calls) == (2, 880, 4)


@both_ways
async def test_a_turn_is_asked_for_as_it_was_prepared(is_async: bool) -> None:
    def prepare(ctx: HookContext) -> TurnPlan | None:
        if ctx.turn == 0:
            return TurnPlan(instructions="Count.", tools=[count], tool_choice="required")
        return None

    model = ScriptedModel([Call("count", number=1), Say("Done")])
    await agent(model, Hooks(prepare_turn=each_way(prepare, is_async))).run("Go.")

    first, second = model.requests
    assert (first.instructions, second.instructions) == ("Count.", "Help.")
    assert [spec.name for spec in first.tools] == ["count"]
    assert [spec.name for spec in second.tools] == ["look", "count"]
    assert (first.tool_choice, second.tool_choice) == ("required", "auto")


@pytest.mark.parametrize("plan", [TurnPlan(tools=["count"]), TurnPlan(tool_choice="none")])
async def test_a_tool_that_a_turn_leaves_out_cannot_be_called(plan: TurnPlan) -> None:
    script: list[Item] = [Call("look", number=1), Say("Done")]

    result = await agent(script, Hooks(prepare_turn=lambda ctx: plan)).run("Go.")

    ((text, status),) = results(result)
    assert status == "refused"
    assert "no tool 'look'" in text


async def test_a_turn_may_have_another_model_of_the_catalogue() -> None:
    big = ScriptedModel([Say("Done")], name="own:big")
    catalogue = Catalogue({"own:big": FREE}, providers={"own": lambda name, card: big})
    small = ScriptedModel([Call("look", number=1)])

    def prepare(ctx: HookContext) -> TurnPlan | None:
        return TurnPlan(model="own:big") if ctx.turn else None

    result = await agent(small, Hooks(prepare_turn=prepare), catalogue=catalogue).run("Go.")

    assert [turn.model for turn in result.turns] == ["scripted:model", "own:big"]


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (TurnPlan(tools=["delete"]), "delete"),
        (TurnPlan(tools=["count"], tool_choice="look"), "look"),
        (TurnPlan(model="nobody:big"), "nobody"),
        ("count", "TurnPlan"),
    ],
)
async def test_a_plan_adds_nothing(plan: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        await agent([], Hooks(prepare_turn=lambda ctx: plan)).run("Go.")


@both_ways
async def test_a_call_can_be_given_a_result_instead_of_running(is_async: bool) -> None:
    seen: list[content.Call] = []

    def before(ctx: HookContext, call: content.Call) -> ToolResult | None:
        seen.append(call)
        return ToolResult("Not on Sundays.", "refused") if call.name == "look" else None

    script: list[Item] = [[Call("look", number="7"), Call("count", number=2)], Say("Done")]

    result = await agent(script, Hooks(before_tool=each_way(before, is_async))).run("Go.")

    assert results(result) == [("Not on Sundays.", "refused"), ("2", "ok")]
    # What a hook sees is what the tool would be given.
    assert sorted(call.arguments["number"] for call in seen) == [2, 7]


@both_ways
async def test_only_what_after_tool_gives_is_kept_and_shown(is_async: bool) -> None:
    events: list[Event] = []

    def after(ctx: HookContext, call: content.Call, result: ToolResult) -> ToolResult:
        return ToolResult(result.text.replace("secret", "***"))

    script: list[Item] = [Call("look", number=1), Say("Done")]
    model = ScriptedModel(script)

    result = await agent(model, Hooks(after_tool=each_way(after, is_async))).run(
        "Go.", on_event=events.append
    )

    assert results(result) == [("*** 1", "ok")]
    assert [e.result.text for e in events if isinstance(e, ToolResultEvent)] == ["*** 1"]
    assert "secret" not in repr((model.requests, events, result))


@both_ways
async def test_each_complete_turn_is_told_once(is_async: bool) -> None:
    seen: list[tuple[int, str, int]] = []

    def told(ctx: HookContext, turn: Turn) -> None:
        seen.append((turn.number, turn.text, len(ctx.messages)))

    script: list[Item] = [[Say("So."), Call("look", number=1)], Say("Done")]
    await agent(script, Hooks(on_turn=each_way(told, is_async))).run("Go.")

    assert seen == [(0, "So.", 3), (1, "Done", 4)]


@both_ways
async def test_an_answer_goes_back_with_the_reason(is_async: bool) -> None:
    def judge(ctx: HookContext, answer: str) -> str | None:
        return None if "sorry" in answer else "Say sorry."

    model = ScriptedModel([Say("No."), Say("No, sorry.")])
    result = await agent(model, Hooks(on_answer=each_way(judge, is_async))).run("Go.")

    assert (result.finish, result.output) == ("answer", "No, sorry.")
    last = model.requests[1].messages[-1]
    assert isinstance(last, UserMessage)
    assert last.text == "Say sorry."


async def test_answers_go_back_no_more_often_than_allowed() -> None:
    hooks = Hooks(on_answer=lambda ctx, answer: "No.", send_backs=2)

    result = await agent([Say("1"), Say("2"), Say("3")], hooks).run("Go.")

    assert (result.finish, result.reason, result.text) == ("exhausted", "invalid_output", "3")
    assert result.output is None
    assert len(result.turns) == 3


async def test_an_answer_that_goes_back_stays_inside_the_budget() -> None:
    hooks = Hooks(on_answer=lambda ctx, answer: "No.", send_backs=9)

    result = await agent([Say("1"), Say("2")], hooks, budget=Budget(turns=2)).run("Go.")

    assert result.finish == "turns"


async def test_what_a_hook_changes_in_what_it_is_given_changes_no_run() -> None:
    def spoil(ctx: HookContext, *given: Any) -> None:
        found = [call for m in ctx.messages if isinstance(m, AssistantMessage) for call in m.calls]
        found += [each for each in given if isinstance(each, content.Call)]
        found += [call for each in given if isinstance(each, Turn) for call in each.calls]
        for call in found:
            call.arguments["number"] = 7

    def finish(result: Any) -> str:
        result.messages[1].calls[0].arguments["number"] = 7
        result.turns[0].calls[0].arguments["number"] = 7
        return "Done"

    hooks = Hooks(**dict.fromkeys(HOOKS, spoil))  # type: ignore[arg-type]  # every one of them
    model = ScriptedModel([Call("look", number=1), Say("Done")])

    result = await agent(model, hooks, finalize=finish).run("Go.")

    assert results(result) == [("secret 1", "ok")]
    said = (*model.requests[1].messages, *result.messages)
    calls = [call for m in said if isinstance(m, AssistantMessage) for call in m.calls]
    assert [call.arguments for call in calls] == [{"number": 1}] * 2
    assert result.turns[0].calls[0].arguments == {"number": 1}


LATE = ["on_turn", "on_answer", "finalize"]


@pytest.mark.parametrize("where", LATE)
async def test_what_the_app_says_takes_no_longer_than_the_budget(where: str) -> None:
    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    hooks = Hooks() if where == "finalize" else Hooks(**{where: hang})  # type: ignore[arg-type]  # one of them
    changes: dict[str, Any] = {"finalize": hang} if where == "finalize" else {}
    slow = agent([Say("Done")], hooks, budget=Budget(turns=3, seconds=0.05), **changes)

    result = await asyncio.wait_for(slow.run("Go."), 10)

    assert (result.finish, result.output, result.text) == ("seconds", None, "Done")


@pytest.mark.parametrize("on_limit", ["stop", "answer"])
async def test_a_message_that_no_turn_is_left_for_takes_no_answer_away(
    on_limit: Literal["stop", "answer"], store: Store, clock: ManualClock
) -> None:
    async def judge(ctx: HookContext, answer: str) -> None:
        await app.send(ctx.run_id, "One more thing.")

    desk = agent([Say("Done")], Hooks(on_answer=judge), budget=Budget(turns=1), on_limit=on_limit)
    app = App(agents=[desk], store=store, clock=clock)
    async with app:
        run = await app.run("a", "Go.", user="u")

    assert (run.finish, run.output, run.messages[-1].text) == ("answer", "Done", "One more thing.")


async def test_an_answer_that_went_back_is_none_where_no_turn_is_left() -> None:
    hooks = Hooks(on_answer=lambda ctx, answer: "No.")

    result = await agent([Say("Done")], hooks, budget=Budget(turns=1)).run("Go.")

    assert (result.finish, result.output) == ("turns", None)


HOOKS = ["prepare_turn", "before_tool", "after_tool", "on_turn", "on_answer"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("error", [ValueError("a bug"), StoreError(reason="it is away")])
async def test_a_hook_that_raises_ends_the_run_as_an_error(
    hook: str, error: Exception, store: Store, clock: ManualClock
) -> None:
    def raises(*given: Any) -> Any:
        raise error

    wrong: dict[str, Any] = {hook: raises}
    hooks = Hooks(**wrong)
    model = ScriptedModel([Call("look", number=1), Say("Done")])
    model.assert_used = lambda: None  # type: ignore[method-assign]  # it ends before that
    async with App([agent(model, hooks)], store=store, clock=clock) as app:
        run = await asyncio.wait_for(app.run("a", "Go."), 10)

    assert (run.status, run.finish) == ("failed", None)
    assert run.error is not None
    assert str(error) in run.error


@pytest.mark.parametrize(
    "wrong", [{"before_tool": "no"}, {"send_backs": -1}, {"send_backs": True}, {"on_turn": 1}]
)
def test_hooks_that_are_no_functions_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Hooks(**wrong)


@pytest.mark.parametrize("hook", ["before_tool", "after_tool", "on_answer"])
async def test_what_is_no_verdict_is_refused(hook: str) -> None:
    model = ScriptedModel([Call("look", number=1), Say("Done")])
    model.assert_used = lambda: None  # type: ignore[method-assign]  # it ends before that

    wrong: dict[str, Any] = {hook: lambda *given: 5}

    with pytest.raises(ConfigError, match=hook):
        await agent(model, Hooks(**wrong)).run("Go.")


class Shop:
    """Refunds that a person must agree to, and a hook that allows no more than 100."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.paid: dict[str, int] = {}
        self.told: list[int] = []

    def before(self, ctx: HookContext, call: content.Call) -> ToolResult | None:
        amount = call.arguments.get("amount", 0)
        self.asked.append((call.id.rpartition("_")[2], amount))
        return ToolResult("More than 100.", "refused") if amount > 100 else None

    def agent(self, model: Any = None) -> Agent[Any, Any]:
        @tool(approval=lambda args: args.amount > 50)
        async def refund(amount: int, ctx: ToolContext[Any]) -> str:
            """Refunds."""
            self.paid[ctx.idempotency_key] = amount
            return f"refunded {amount}"

        hooks = Hooks(
            prepare_turn=lambda ctx: TurnPlan(tools=["refund"]),
            before_tool=self.before,
            after_tool=lambda ctx, call, result: ToolResult(result.text.upper()),
            on_turn=lambda ctx, turn: self.told.append(turn.number),
            on_answer=lambda ctx, answer: None if "sorry" in answer else "Say sorry.",
        )
        return agent(model or self.model(), hooks, tools=[refund, look])

    def model(self) -> ScriptedModel:
        def answer(request: ModelRequest) -> Any:
            done = [m for m in request.messages if isinstance(m, ToolMessage)]
            if not done:
                return [Call("refund", amount=n) for n in (20, 70, 500)]
            last = request.messages[-1]
            return Say("Done, sorry." if isinstance(last, UserMessage) else "Done.")

        model = ScriptedModel([answer] * 50)
        model.assert_used = lambda: None  # type: ignore[method-assign]  # a script of any length
        return model

    async def live(self, store: Store, clock: ManualClock, user: str, **decision: Any) -> Run:
        async with App([self.agent()], store=store, clock=clock) as app:
            found = await app.runs(user=user)
            run_id = found[0].id if found else await app.start("a", "Refund.", user=user)
            run = await asyncio.wait_for(app.wait(run_id), 10)
            if run.status == "paused":
                call = run.pending[0].id
                kinds: dict[str, Any] = {
                    k: [call] if k == "approve" else {call: v} for k, v in decision.items()
                }
                await app.decide(run_id, by=STAFF, **kinds)
                run = await asyncio.wait_for(app.wait(run_id), 10)
            return run


async def test_before_tool_comes_before_a_person_and_again_before_the_call(
    store: Store, clock: ManualClock
) -> None:
    shop = Shop()
    run = await shop.live(store, clock, "u_1", approve=True)

    assert [text for text, _ in results(run)] == ["REFUNDED 20", "REFUNDED 70", "More than 100."]
    assert sorted(shop.asked) == [("0", 20), ("1", 70), ("1", 70), ("2", 500)]


async def test_what_a_person_chose_is_asked_about_as_well(store: Store, clock: ManualClock) -> None:
    shop = Shop()
    run = await shop.live(store, clock, "u_1", edit={"amount": 200})

    assert results(run)[1] == ("More than 100.", "refused")
    assert ("1", 200) in shop.asked
    assert sorted(shop.paid.values()) == [20]


async def test_a_call_that_a_person_refused_is_not_asked_about_again(
    store: Store, clock: ManualClock
) -> None:
    shop = Shop()
    run = await shop.live(store, clock, "u_1", deny="no")

    assert results(run)[1][1] == "denied"
    assert shop.asked.count(("1", 70)) == 1


async def verdicts(store: Store, run: str) -> list[str]:
    kinds = ("/before", "/ready:", "/prepare", "/noted", "/judged")
    facts = [fact for _, fact in await facts_of(store, run)]
    names = [fact.name for fact in facts if isinstance(fact, Stepped)]
    return [name for name in names if any(kind in name for kind in kinds)]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_verdicts_hold_in_a_run_that_is_killed_at_any_write(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None)
    shop = Shop()
    whole = await shop.live(counting, clock, "u_0", approve=True)
    assert (whole.finish, whole.output) == ("answer", "Done, sorry.")
    again: set[str] = set()
    for number in range(1, counting.writes + 1):
        shop, user = Shop(), f"u_{number}"
        try:
            await shop.live(CrashStore(store, at=number, when=when), clock, user, approve=True)
        except BaseException as error:
            if not isinstance(error, Crash | BaseExceptionGroup | asyncio.CancelledError):
                raise
        clock.advance(60)
        run = await shop.live(store, clock, user, approve=True)
        assert (run.finish, run.output) == (whole.finish, whole.output)
        assert results(run) == results(whole)
        assert sorted(shop.paid.values()) == [20, 70]
        names = await verdicts(store, run.id)
        assert len(names) == len(set(names))
        again |= {name for name in names if name.startswith("turn:0/call:0/ready")}
        facts = await facts_of(store, run.id)
        still = AgentProgram(Shop().agent(ScriptedModel([])).plan(frozenset()))
        for end in range(1, len(facts) + 1):
            assert await replay(still, facts[:end]) is None
    # A call without a person that a dead process began with was asked about again.
    assert again == {"turn:0/call:0/ready:0"}


async def test_a_replay_asks_no_hook(store: Store, clock: ManualClock) -> None:
    run = await Shop().live(store, clock, "u_1", approve=True)
    other = Shop()
    program = AgentProgram(other.agent(ScriptedModel([])).plan(frozenset()))

    assert await replay(program, await facts_of(store, run.id)) is None
    assert (other.asked, other.told, other.paid) == ([], [], {})


async def test_a_turn_of_a_model_without_rates_and_a_budget_of_cost_is_refused() -> None:
    never = ScriptedModel([], card=Card())
    catalogue = Catalogue({"own:x": Card()}, providers={"own": lambda name, card: never})
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(model="own:x"))

    with pytest.raises(ConfigError, match="rates"):
        await agent([], hooks, catalogue=catalogue, budget=Budget(turns=2, cost=1)).run("Go.")
