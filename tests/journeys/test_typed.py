"""Laws of answers of a type."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from remit import Agent, App, Budget, Result, WorkflowRun, tool, workflow
from remit.errors import ConfigError
from remit.models.request import ModelRequest
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import Call, Item, Say, ScriptedModel
from remit.values.content import Text
from remit.values.messages import AssistantMessage, UserMessage


class Line(BaseModel):
    """One line."""

    sku: str
    count: int = Field(ge=1)


class Order(BaseModel):
    """An order."""

    number: str
    due: date
    lines: list[Line]


@dataclass
class Pair:
    left: int
    right: int


class Tree(BaseModel):
    """A tree."""

    name: str
    below: list[Tree] = []


GOOD: dict[str, Any] = {
    "number": "A-1",
    "due": "2026-01-31",
    "lines": [{"sku": "x", "count": 2}],
}
ORDER = Order(number="A-1", due=date(2026, 1, 31), lines=[Line(sku="x", count=2)])
BAD: dict[str, Any] = {**GOOD, "lines": [{"sku": "x", "count": 0}]}


@tool
async def find_order(number: str) -> str:
    """Finds an order."""
    return f"{number} is there"


def final(**arguments: Any) -> Call:
    return Call("final_answer", **arguments)


def typed(
    script: list[Item] | ScriptedModel, output: Any = Order, **changes: Any
) -> Agent[Any, Any]:
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    options: dict[str, Any] = {"tools": [find_order], "budget": Budget(turns=8)}
    return Agent(name="desk", model=model, output=output, **(options | changes))


@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        (Order, GOOD, ORDER),
        (Pair, {"left": 1, "right": 2}, Pair(1, 2)),
        (list[int], {"answer": [1, 2]}, [1, 2]),
        (int | None, {"answer": 3}, 3),
        (Literal["yes", "no"], {"answer": "no"}, "no"),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (
            Tree,
            {"answer": {"name": "a", "below": [{"name": "b"}]}},
            Tree(name="a", below=[Tree(name="b")]),
        ),
    ],
)
async def test_an_answer_is_a_value_of_the_agents_type(
    output: Any, answer: Any, value: Any
) -> None:
    result = await typed([final(**answer)], output).run("go")
    assert (result.finish, result.output) == ("answer", value)
    assert type(result.output) is type(value)


@pytest.mark.parametrize("text", [json.dumps(GOOD), json.dumps(GOOD, indent=2)])
async def test_json_as_text_is_an_answer_too(text: str) -> None:
    result = await typed([Say(text)]).run("go")
    assert (result.finish, result.output) == ("answer", ORDER)


async def test_the_way_an_answer_is_given_is_hidden() -> None:
    seen: list[Any] = []
    result = await typed([Call("find_order", number="A-1"), final(**GOOD)]).run(
        "go", on_event=seen.append
    )
    assert [call.name for turn in result.turns for call in turn.calls] == ["find_order"]
    assert [event.call.name for event in seen if event.kind == "tool_call"] == ["find_order"]
    last = result.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert json.loads(last.text) == GOOD
    assert seen[-1].result.output == ORDER


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (final(**BAD), "lines[0].count: "),
        (final(number="A-1"), "due: "),
        (Say("It is on its way."), "JSON"),
    ],
)
async def test_what_does_not_fit_goes_back_with_what_to_mend(bad: Any, told: str) -> None:
    model = ScriptedModel([bad, final(**GOOD)])
    result = await typed(model).run("go")
    assert (result.finish, result.output) == ("answer", ORDER)
    note = model.requests[1].messages[-1]
    assert isinstance(note, UserMessage)
    assert told in note.text
    assert len(model.requests[1].messages) == 2
    assert [type(message) for message in result.messages] == [UserMessage, AssistantMessage]


async def test_a_third_answer_that_does_not_fit_exhausts_the_run() -> None:
    result = await typed([final(**BAD)] * 3).run("go")
    assert (result.finish, result.reason) == ("exhausted", "invalid_output")
    assert (result.output, result.text, len(result.turns)) == (None, "", 3)


async def test_a_call_as_text_is_malformed_under_a_type_too() -> None:
    leak = '{"name": "final_answer", "arguments": {"number": "A-1"}}'
    result = await typed([Say(leak), Say(leak)]).run("go")
    assert (result.finish, result.reason) == ("exhausted", "malformed_output")


async def test_an_answer_beside_other_calls_waits_for_their_results() -> None:
    script: list[Item] = [[final(**BAD), Call("find_order", number="A-1")], final(**GOOD)]
    result = await typed(script).run("go")
    assert (result.finish, result.output, len(result.turns)) == ("answer", ORDER, 2)


async def test_the_request_tells_the_form_for_models_that_keep_to_one() -> None:
    model = ScriptedModel([final(answer=[1])])
    await typed(model, list[int]).run("go")
    output = model.requests[0].output
    assert output is not None
    assert output.schema == {"type": "array", "items": {"type": "integer"}}
    assert [tool.name for tool in model.requests[0].tools] == ["find_order", output.tool]


async def test_text_needs_no_form() -> None:
    model = ScriptedModel([Say("Hello.")])
    result = await typed(model, str).run("go")
    assert (result.output, model.requests[0].output) == ("Hello.", None)


@pytest.mark.parametrize("output", ["Order", lambda: 1, object()])
def test_a_type_that_cannot_be_checked_is_refused(output: Any) -> None:
    with pytest.raises(ConfigError, match="output of agent 'desk'"):
        typed([], output)


class Leg(BaseModel):
    """A leg of a trip."""

    ends: tuple[str, str]


@pytest.mark.parametrize("output", [tuple[int, str], Leg, list[Leg], dict[str, Leg], tuple[()]])
def test_a_tuple_of_fixed_length_is_refused_since_providers_refuse_its_schema(output: Any) -> None:
    with pytest.raises(ConfigError, match="output of agent 'desk' has a tuple"):
        typed([], output)


@pytest.mark.parametrize("output", [tuple[int, ...], list, list[Order], dict[str, list[int]]])
def test_lists_of_one_type_are_answers(output: Any) -> None:
    typed([], output)


def test_a_tool_may_not_have_the_name_of_the_final_one() -> None:
    @tool
    async def final_answer() -> str:
        """Another."""
        return ""

    with pytest.raises(ConfigError, match="final_answer"):
        typed([], tools=[final_answer])
    assert typed([], None, tools=[final_answer]).form is None


async def test_the_journal_has_plain_data_and_the_run_the_value(store: Store) -> None:
    model = ScriptedModel([final(**BAD), final(**GOOD), Say(json.dumps(GOOD))])
    async with App(agents=[typed(model)], store=store) as app:
        first = await app.run("desk", "go", user="u", thread="t")
        again = await app.get(first.id)
        await app.run("desk", "more", user="u", thread="t")
    async with App(store=store) as other:
        plain = await other.get(first.id)
    assert first.output == again.output == ORDER
    assert plain.output == GOOD
    said = [message.text for message in model.requests[2].messages if not isinstance(message, str)]
    assert said[0] == "go"
    assert json.loads(said[1]) == GOOD
    assert said[2:] == ["more"]


async def test_a_workflow_gets_the_value(store: Store) -> None:
    agent = typed([final(**GOOD)])

    @workflow
    async def ordering(run: WorkflowRun, number: str) -> str:
        """Orders."""
        result = await run.agent(agent, number)
        assert result.output == ORDER
        return str(result.output.number)

    async with App(agents=[agent], workflows=[ordering], store=store) as app:
        run = await app.run(ordering, "A-1")
    assert run.output == "A-1"


def ask(order: Order) -> str:
    return f"Check order {order.number}, due in {order.due.year}"


@pytest.mark.parametrize("value", [ORDER, GOOD])
async def test_a_typed_input_is_checked_and_told_by_the_prompt(value: Any) -> None:
    result = await typed([Say("Good.")], None, input=Order, prompt=ask).run(value)
    assert result.messages[0].text == "Check order A-1, due in 2026"


async def test_without_a_prompt_the_message_is_the_inputs_json() -> None:
    result = await typed([Say("Good.")], None, input=Order).run(ORDER)
    assert json.loads(result.messages[0].text) == GOOD


async def test_a_prompt_alone_is_made_from_text() -> None:
    result = await typed([Say("Good.")], None, prompt=lambda text: f"Be short: {text}").run("go")
    assert result.messages[0].text == "Be short: go"


async def test_an_input_that_does_not_fit_is_refused_before_anything_runs(store: Store) -> None:
    agent = typed([], None, input=Order, prompt=ask)
    with pytest.raises(ConfigError, match="input of agent 'desk'"):
        await agent.run(BAD)
    async with App(agents=[agent], store=store) as app:
        with pytest.raises(ConfigError, match="input of agent 'desk'"):
            await app.start("desk", "go")
        assert await app.runs() == []


async def test_an_agent_with_a_typed_input_goes_on_with_a_history() -> None:
    agent = typed([Say("Good.")], None, input=Order, prompt=ask)

    result = await agent.run(None, history=[UserMessage((Text("Check A-1"),))])

    assert result.text == "Good."
    with pytest.raises(ConfigError, match="neither a message nor a history"):
        await agent.run(None)


async def test_a_stored_run_is_asked_with_the_prompt_too(store: Store) -> None:
    agent = typed([Say("Good.")], None, input=Order, prompt=ask)
    async with App(agents=[agent], store=store) as app:
        run = await app.run("desk", ORDER)
    assert run.messages[0].text == "Check order A-1, due in 2026"


@pytest.mark.parametrize("changes", [{"input": object()}, {"prompt": "Check it"}])
def test_an_input_or_prompt_that_cannot_work_is_refused(changes: Any) -> None:
    with pytest.raises(ConfigError, match="of agent 'desk'"):
        typed([], None, **changes)


class Receipt(BaseModel):
    """What is kept of an order."""

    number: str
    turns: int


async def test_the_last_function_gives_the_output() -> None:
    async def receipt(result: Result) -> Receipt:
        assert result.output == ORDER
        return Receipt(number=result.output.number, turns=len(result.turns))

    result = await typed([final(**GOOD)], finalize=receipt).run("go")
    assert (result.finish, result.output) == ("answer", Receipt(number="A-1", turns=1))
    assert json.loads(result.text) == GOOD


async def test_the_last_function_may_be_plain_and_make_what_json_holds() -> None:
    agent = typed([Say("Good.")], None, finalize=lambda result: {"said": result.text})
    assert (await agent.run("go")).output == {"said": "Good."}


async def test_what_the_last_function_gives_is_of_the_type_that_it_tells() -> None:
    def count(result: Result) -> int:
        return result.text  # type: ignore[return-value]  # the law is about such a function

    assert (await typed([Say("12")], None, finalize=count).run("go")).output == 12
    with pytest.raises(ConfigError, match="return annotation"):
        await typed([Say("abc")], None, finalize=count).run("go")


async def test_a_run_without_an_answer_has_no_last_function() -> None:
    called: list[Result] = []
    result = await typed([final(**BAD)] * 3, finalize=called.append).run("go")
    assert (result.finish, result.output, called) == ("exhausted", None, [])


@pytest.mark.parametrize("finalize", ["receipt", 1])
def test_a_last_function_that_cannot_be_called_is_refused(finalize: Any) -> None:
    with pytest.raises(ConfigError, match="finalize of agent 'desk'"):
        typed([], finalize=finalize)


async def test_a_message_during_the_last_function_leads_to_another_answer(store: Store) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def last(result: Result) -> str:
        begun.set()
        await go_on.wait()
        return f"last: {result.text}"

    agent = typed([Say("one"), Say("two")], None, finalize=last)
    async with App(agents=[agent], store=store) as app:
        run = await app.start("desk", "go")
        await asyncio.wait_for(begun.wait(), 10)
        await app.send(run, "more")
        go_on.set()
        ended = await asyncio.wait_for(app.wait(run), 10)
    assert (ended.text, ended.output) == ("two", "last: two")


def in_turn(request: ModelRequest) -> Any:
    """A look, an answer that does not fit, and one that does."""
    last = request.messages[-1]
    if isinstance(last, AssistantMessage | UserMessage) and "What to mend" in last.text:
        return final(**GOOD)
    return Call("find_order", number="A-1") if isinstance(last, UserMessage) else final(**BAD)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_typed_answer_survives_a_crash_at_any_write(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    ended: list[int] = []

    async def receipt(result: Result) -> Receipt:
        ended.append(len(result.turns))
        return Receipt(number=result.output.number, turns=len(result.turns))

    async def live(on: Store, user: str) -> Any:
        model = ScriptedModel([in_turn] * 20)
        model.assert_used = lambda: None  # type: ignore[method-assign]  # a script of any length
        agent = typed(model, finalize=receipt)
        async with App(agents=[agent], store=on, clock=clock) as app:
            found = await app.runs(user=user)
            run = found[0].id if found else await app.start("desk", "go", user=user)
            return await asyncio.wait_for(app.wait(run), 10)

    counting = CrashStore(store, at=None, when=when)
    assert (await live(counting, "u_0")).output == Receipt(number="A-1", turns=3)
    assert ended == [3]
    for number in range(1, counting.writes + 1):
        user = f"u_{number}"
        try:
            await live(CrashStore(store, at=number, when=when), user)
        except (Crash, BaseExceptionGroup, asyncio.CancelledError):
            clock.advance(60)
        again = await live(store, user)
        assert (again.finish, again.output) == ("answer", Receipt(number="A-1", turns=3))
        assert len(again.turns) == 3
