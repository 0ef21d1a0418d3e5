"""An agent's run without a store: what it gives back, and how its calls are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from remit import Budget, Card, ModelRequest, Pricing, ToolContext, ToolError, Usage, tool
from remit.errors import ConnectionFailedError, ProviderError
from remit.models.request import CallChunk, Chunk, Stop, StopChunk, TextChunk
from remit.models.retry import Retry
from remit.testing.model import FREE, Answer, Call, Item, Say, ScriptedModel
from remit.values.content import Text
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from tests.journeys.clerk import Desk, check_request, clerk, cut_short, results, soon

RATES = Card(pricing=Pricing(input=1, output=2))


async def test_an_answer_is_given_back_with_all_that_led_to_it() -> None:
    first = Answer(Say("Looking."), Call("look", number=7), usage=Usage(input_tokens=100))
    last = Answer(Say("It is 7."), usage=Usage(input_tokens=150, output_tokens=10))
    model = ScriptedModel([first, last], card=RATES, name="own:model")
    result = await clerk(model, Desk().tools()).run("What is it?", user="u_1")
    assert (result.finish, result.text, result.output) == ("answer", "It is 7.", "It is 7.")
    assert (result.reason, result.pending, result.state) == (None, (), None)
    user, asking, seen, answer = result.messages
    assert user == UserMessage((Text("What is it?"),))
    assert isinstance(asking, AssistantMessage)
    assert (asking.text, asking.model) == ("Looking.", "own:model")
    assert seen == ToolMessage(asking.calls[0].id, "look", "seen 7")
    assert answer == AssistantMessage((Text("It is 7."),), "own:model")
    one, two = result.turns
    assert [(turn.number, turn.model) for turn in result.turns] == [
        (0, "own:model"),
        (1, "own:model"),
    ]
    assert (one.calls, two.calls) == (asking.calls, ())
    assert (one.cost, two.cost) == (Decimal("0.0001"), Decimal("0.00017"))
    assert result.usage == Usage(input_tokens=250, output_tokens=10, cost=Decimal("0.00027"))
    assert one.usage_id != two.usage_id
    assert one.usage_id.startswith(result.run_id)
    for request in model.requests:
        check_request(request)
    assert model.requests[1].messages == result.messages[:3]


async def test_a_report_that_contradicts_itself_is_clamped_marked_and_never_negative() -> None:
    told = Usage(input_tokens=56_322, cache_read_tokens=72_960, output_tokens=-5)
    model = ScriptedModel([Answer(Say("Done."), usage=told)], card=RATES)

    result = await clerk(model).run("x")

    assert result.usage == Usage(
        input_tokens=56_322,
        cache_read_tokens=56_322,
        cost=Decimal("0.056322"),
        estimated=True,
    )


async def test_what_a_model_says_that_it_cost_counts_for_nothing() -> None:
    told = Usage(input_tokens=1_000, cost=Decimal("NaN"))
    priced = ScriptedModel([Answer(Say("Done."), usage=told)], card=RATES)
    unpriced = ScriptedModel([Answer(Say("Done."), usage=told)], card=Card())

    assert (await clerk(priced).run("x")).usage.cost == Decimal("0.001")
    assert (await clerk(unpriced).run("x")).usage.cost is None


async def test_runs_have_ids_of_their_own() -> None:
    agent = clerk([Say("a"), Say("b")])
    assert (await agent.run("x")).run_id != (await agent.run("x")).run_id


@pytest.mark.parametrize("stop", ["end", "calls", "length"])
async def test_calls_decide_whether_a_turn_is_the_last(stop: Stop) -> None:
    """Whatever reason the provider gives for its stop, but for a refusal."""
    desk = Desk()
    calls = [Call("look", number=number) for number in range(3)]
    script: list[Item] = [Answer(Say("Let me see …"), *calls, stop=stop), Say("done")]
    result = await clerk(script, desk.tools()).run("x")
    assert len(desk.ran) == 3
    assert (result.finish, result.text) == ("answer", "done")


@pytest.mark.parametrize("stop", ["length", "refusal"])
async def test_an_answer_that_the_model_cut_or_refused_is_none(stop: Stop) -> None:
    result = await clerk([Answer(Say("I can"), stop=stop)]).run("x")
    assert (result.finish, result.text, result.output) == (stop, "I can", None)
    assert len(result.turns) == 1


async def test_no_call_of_a_refused_answer_runs() -> None:
    desk = Desk()
    refused = Answer(Say("I will"), Call("look", number=1), stop="refusal")
    result = await clerk([refused], desk.tools()).run("x")
    assert (result.finish, result.text, desk.ran) == ("refusal", "I will", [])
    assert result.turns[0].calls == ()


async def test_a_model_that_paused_goes_on_when_it_is_asked_again() -> None:
    model = ScriptedModel([Answer(Say("First half,"), stop="pause"), Say("second half.")])
    result = await clerk(model).run("x")
    assert (result.finish, result.text, len(result.turns)) == ("answer", "second half.", 2)
    assert model.requests[1].messages == result.messages[:2]


async def test_an_empty_answer_leaves_no_message() -> None:
    model = ScriptedModel([Answer(stop="refusal")])
    result = await clerk(model).run("x")
    assert (result.finish, result.text) == ("refusal", "")
    assert result.messages == (UserMessage((Text("x"),)),)
    assert len(result.turns) == 1


async def test_an_answer_without_a_report_of_its_usage_is_marked_as_estimated() -> None:
    class Silent:
        name, card = "own:silent", RATES

        async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
            yield TextChunk("hi")

    result = await clerk(Silent()).run("x")
    assert result.usage.estimated
    assert result.finish == "answer"


async def test_results_keep_the_order_of_their_calls() -> None:
    """Four calls that end in the reverse order."""
    gates = [asyncio.Event() for _ in range(5)]
    gates[4].set()

    @tool
    async def wait(number: int) -> str:
        """Waits for the next one."""
        await gates[number + 1].wait()
        gates[number].set()
        return f"result {number}"

    model = ScriptedModel([[Call("wait", number=n) for n in range(4)], Say("done")])
    result = await soon(clerk(model, [wait]).run("x"))
    assert [message.text for message in results(result.messages)] == [
        f"result {number}" for number in range(4)
    ]
    check_request(model.requests[1])


@pytest.mark.parametrize(("changes", "most"), [({}, 4), ({"parallel": 1}, 1), ({"parallel": 9}, 9)])
async def test_no_more_calls_at_once_than_allowed(changes: dict[str, Any], most: int) -> None:
    now, peak, ran = 0, 0, 0

    @tool
    async def work(number: int) -> str:
        """Works."""
        nonlocal now, peak, ran
        now, ran = now + 1, ran + 1
        peak = max(peak, now)
        for _ in range(5):
            await asyncio.sleep(0)
        now -= 1
        return str(number)

    calls = [Call("work", number=n) for n in range(10)]
    result = await clerk([calls, Say("done")], [work], **changes).run("x")
    assert (peak, ran) == (most, 10)
    assert [message.text for message in results(result.messages)] == [str(n) for n in range(10)]


async def test_one_call_that_fails_loses_none_beside_it() -> None:
    @tool
    async def work(number: int) -> str:
        """Works, or does not."""
        if number == 1:
            raise ToolError("Try 2.")
        if number == 3:
            raise ValueError("secret")
        return str(number)

    calls = [Call("work", number=n) for n in range(4)]
    result = await clerk([calls, Say("done")], [work]).run("x")
    found = [(message.status, message.text) for message in results(result.messages)]
    assert found[:3] == [("ok", "0"), ("error", "Try 2."), ("ok", "2")]
    assert found[3][0] == "error"
    assert "secret" not in found[3][1]


async def test_every_call_has_a_key_of_its_own() -> None:
    """Also equal calls of one turn, of the next turn and of another run."""
    desk, twice = Desk(), [Call("look", number=1), Call("look", number=1)]
    agent = clerk([twice, twice, Say("done"), twice, Say("done")], desk.tools())
    first, second = await agent.run("x"), await agent.run("x")
    assert len(desk.keys) == len(set(desk.keys)) == 6
    calls = [call for run in (first, second) for turn in run.turns for call in turn.calls]
    assert [call.key for call in calls] == desk.keys
    assert len({call.id for call in calls}) == 6


async def test_an_unknown_tool_is_answered_with_the_names_that_there_are() -> None:
    desk = Desk()
    result = await clerk([Call("lock", number=1), Say("done")], desk.tools()).run("x")
    (answer,) = results(result.messages)
    assert answer.status == "refused"
    for name in ("'lock'", "look", "pay_out", "hold"):
        assert name in answer.text
    assert result.finish == "answer"


@pytest.mark.parametrize(
    "name", ["l\u043e\u043ek", "look\u200b", "look\n", " look", "\uff4cook", "LOOK", "", "l" * 65]
)
async def test_a_name_that_looks_like_a_tools_calls_nothing(name: str) -> None:
    desk, model = Desk(), ScriptedModel([Call(name, number=1), Say("done")])
    result = await clerk(model, desk.tools()).run("x")
    (answer,) = results(result.messages)
    assert desk.ran == []
    assert (answer.status, "look, pay_out, hold" in answer.text) == ("refused", True)
    for message in model.requests[1].messages:
        if isinstance(message, AssistantMessage):
            assert all(call.name.isascii() and call.name.strip() for call in message.calls)


async def test_a_tool_that_is_called_unknown_is_called_by_its_own_name_alone() -> None:
    ran: list[int] = []

    @tool(name="unknown")
    async def work(number: int) -> str:
        """Works."""
        ran.append(number)
        return "done"

    calls = [Call("unkn\u043ewn", number=1), Call("unknown", number=2)]
    result = await clerk([calls, Say("done")], [work]).run("x")
    assert ran == [2]
    assert [message.status for message in results(result.messages)] == ["refused", "ok"]


class Pieces:
    """A model that answers once with the given pieces, and then with a text."""

    name, card = "own:pieces", FREE

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks = chunks
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        check_request(request)
        self.asked += 1
        for chunk in self.chunks if self.asked == 1 else [TextChunk("done")]:
            yield chunk


@pytest.mark.parametrize("text", ['{"number":', "[1]", "null", '{"number":NaN}', "{" * 100_000])
async def test_arguments_that_cannot_be_read_go_back_to_the_model(text: str) -> None:
    desk, model = Desk(), Pieces(CallChunk(0, "look", text), StopChunk("calls"))
    result = await clerk(model, desk.tools()).run("x")
    (answer,) = results(result.messages)
    assert (answer.status, desk.ran) == ("error", [])
    assert "JSON object" in answer.text
    assert result.finish == "answer"


async def test_a_tool_without_parameters_is_called_without_arguments() -> None:
    ran = 0

    @tool
    async def now() -> str:
        """Tells the time."""
        nonlocal ran
        ran += 1
        return "12:00"

    result = await clerk(Pieces(CallChunk(0, "now", "")), [now]).run("x")
    assert (ran, result.turns[0].calls[0].arguments) == (1, {})


async def test_arguments_that_do_not_fit_go_back_with_what_to_mend() -> None:
    desk = Desk()
    result = await clerk([Call("look", number="many"), Say("done")], desk.tools()).run("x")
    (answer,) = results(result.messages)
    assert (answer.status, desk.ran) == ("error", [])
    assert "number" in answer.text


async def test_a_tool_knows_its_run_its_call_and_for_whom_it_works() -> None:
    seen: list[ToolContext[Any]] = []

    @tool(needs={"a"})
    async def look(ctx: ToolContext[Any]) -> str:
        """Looks."""
        seen.append(ctx)
        return "ok"

    agent = clerk([Call("look"), Say("done")], [look], grant={"a", "b"})
    result = await agent.run("x", user="u_1", tenant="t_1", deps={"db": 1})
    (ctx,) = seen
    (call,) = result.turns[0].calls
    assert (ctx.run_id, ctx.turn, ctx.call_id) == (result.run_id, 0, call.id)
    assert (ctx.user, ctx.tenant) == ("u_1", "t_1")
    assert ctx.grant == {"a", "b"}
    assert (ctx.attempt, ctx.deps, ctx.idempotency_key) == (1, {"db": 1}, call.key)
    assert not ctx.cancelled


@pytest.mark.parametrize(
    "error", [ProviderError(status=529), ConnectionFailedError(reason="no route", may_cost=False)]
)
async def test_a_providers_error_is_raised_with_what_was_done_so_far(error: Any) -> None:
    usage = Usage(input_tokens=5, cost=Decimal("0.1"))
    script = [Answer(Call("look", number=1), Call("look", number=2), usage=usage), error]
    with pytest.raises(type(error)) as caught:
        await clerk(script, Desk().tools(), retry=Retry(attempts=1)).run("x")
    assert caught.value is error
    assert [type(message) for message in error.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
    ]
    assert error.usage.input_tokens == 5


async def test_a_run_that_needs_a_person_ends_with_what_it_waits_for() -> None:
    desk = Desk()
    calls = [Call("look", number=1), Call("pay_out", amount=5), Call("look", number=2)]
    result = await clerk([calls], desk.tools()).run("x")
    assert (result.finish, result.output) == ("approval", None)
    (pending,) = result.pending
    assert (pending.tool, pending.arguments) == ("pay_out", {"amount": 5})
    assert sorted(desk.ran) == [("look", 1), ("look", 2)]
    assert [message.text for message in results(result.messages)] == ["seen 1", "seen 2"]


async def test_a_cancelled_run_cancels_its_tools() -> None:
    desk = Desk()
    calls = [Call("hold", number=1), Call("hold", number=2)]
    run = asyncio.create_task(clerk([calls], desk.tools()).run("x"))
    await soon(desk.held.wait())
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(run)
    assert desk.cut.is_set()


@pytest.mark.parametrize("cut", ["timeout", "cancel"])
async def test_a_tool_that_is_cut_has_time_to_leave_things_in_order(cut: str) -> None:
    began, order = asyncio.Event(), []

    @tool(timeout=0.01 if cut == "timeout" else None)
    async def work() -> str:
        """Works, and tidies up."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            order.append("tidied up")
        return "done"

    agent = clerk(cut_short([Call("work"), Say("done")]), [work])
    run = asyncio.create_task(agent.run("x"))
    await soon(began.wait())
    if cut == "cancel":
        run.cancel()
    await asyncio.wait([run], timeout=5)
    assert run.cancelled() == (cut == "cancel")
    assert order == ["tidied up"]


async def test_a_cancelled_run_closes_its_models_stream() -> None:
    began, closed = asyncio.Event(), asyncio.Event()

    class Hanging:
        name, card = "own:hanging", FREE

        async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
            try:
                yield TextChunk("Hel")
                began.set()
                await asyncio.Event().wait()
            finally:
                closed.set()

    run = asyncio.create_task(clerk(Hanging()).run("x"))
    await soon(began.wait())
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(run)
    assert closed.is_set()


async def test_a_model_may_answer_with_any_async_iterator() -> None:
    class Once:
        def __init__(self) -> None:
            self.left: list[Chunk] = [TextChunk("hi")]

        def __aiter__(self) -> Once:
            return self

        async def __anext__(self) -> Chunk:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    class Own:
        name, card = "own:model", FREE

        def stream(self, request: ModelRequest) -> Once:
            return Once()

    result = await clerk(Own()).run("x")
    assert result.text == "hi"


async def test_a_run_of_one_turn_makes_its_calls_and_stops() -> None:
    desk = Desk()
    result = await clerk([Call("look", number=1)], desk.tools(), budget=Budget(turns=1)).run("x")
    assert result.finish == "turns"
    assert [message.text for message in results(result.messages)] == ["seen 1"]
