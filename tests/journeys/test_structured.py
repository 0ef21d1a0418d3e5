"""Laws of typed answers that a provider keeps to their schema by its own means."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from remit import Agent, App, Budget, Card, tool
from remit.errors import ConfigError
from remit.models.openai_chat import OpenAIChat
from remit.options import Hooks, TurnPlan
from remit.store.protocol import Store
from remit.testing import Call, Say, StrictProvider
from remit.testing.model import Item, ScriptedModel

STRUCTURED = Card(structured=True)


class Line(BaseModel):
    sku: str
    count: int = Field(ge=1)
    note: str = ""


class Order(BaseModel):
    """An order."""

    number: str
    lines: list[Line] = []


GOOD = {"number": "A-1", "lines": [{"sku": "x", "count": 2, "note": None}]}
ORDER = Order(number="A-1", lines=[Line(sku="x", count=2)])


@tool
async def find_order(number: str) -> str:
    """Finds an order."""
    return f"{number} is there"


@asynccontextmanager
async def serving(script: Sequence[Any]) -> AsyncIterator[StrictProvider]:
    """A provider that in the end has refused nothing, and was asked all that it had."""
    async with StrictProvider(script) as provider:
        yield provider
    assert provider.refused == []
    provider.assert_used()


def typed(provider: StrictProvider, output: Any = Order, **changes: Any) -> Agent[Any, Any]:
    asked = {"card": STRUCTURED} | changes.pop("asked", {})
    model = OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k", **asked)
    options: dict[str, Any] = {"tools": [find_order], "budget": Budget(turns=8)}
    return Agent(name="desk", model=model, output=output, **(options | changes))


def said(value: Any) -> Say:
    return Say(json.dumps(value))


def tools_of(body: dict[str, Any]) -> list[str]:
    return [each["function"]["name"] for each in body.get("tools", ())]


async def test_an_answer_is_asked_for_by_the_providers_means_beside_tools() -> None:
    async with serving([Call("find_order", number="A-1"), said(GOOD)]) as provider:
        result = await typed(provider).run("go")

    assert (result.finish, result.output) == ("answer", ORDER)
    for sent in provider.requests:
        assert tools_of(sent.body) == ["find_order"]
        kept = sent.body["response_format"]["json_schema"]
        assert kept["strict"] is True
        assert kept["schema"]["required"] == ["number", "lines"]
    assert (
        provider.requests[0].body["response_format"]
        == (provider.requests[1].body["response_format"])
    )


@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        (list[int], {"answer": [1, 2]}, [1, 2]),
        (int | None, {"answer": None}, None),
        (Literal["yes", "no"], {"answer": "no"}, "no"),
        (list[Line], {"answer": [{"sku": "x", "count": 2, "note": None}]}, ORDER.lines),
    ],
)
async def test_what_is_no_object_comes_inside_of_one(output: Any, answer: Any, value: Any) -> None:
    async with serving([said(answer)]) as provider:
        result = await typed(provider, output).run("go")

    assert (result.finish, result.output) == ("answer", value)
    assert provider.requests[0].body["response_format"]["json_schema"]["schema"]["required"] == (
        ["answer"]
    )


async def test_a_schema_without_a_strict_form_is_asked_for_by_the_tool() -> None:
    async with serving([Call("final_answer", a=1)]) as provider:
        result = await typed(provider, dict[str, int]).run("go")

    assert result.output == {"a": 1}
    assert "response_format" not in provider.requests[0].body
    assert tools_of(provider.requests[0].body) == ["find_order", "final_answer"]


@pytest.mark.parametrize(
    "asked",
    [{"card": Card()}, {"options": {"response_format": {"type": "json_object"}}}],
)
async def test_the_tool_stays_where_the_means_are_not_told_of_or_taken(asked: Any) -> None:
    async with serving([Call("final_answer", **GOOD)]) as provider:
        result = await typed(provider, asked=asked).run("go")

    assert result.output == ORDER
    assert tools_of(provider.requests[0].body) == ["find_order", "final_answer"]
    assert "json_schema" not in provider.requests[0].body.get("response_format", {})


async def test_a_server_without_tool_calling_is_asked_as_ever() -> None:
    reply = {"tool": "final_answer", "arguments": GOOD}
    async with serving([said(reply)]) as provider:
        result = await typed(provider, asked={"tools": "json"}).run("go")

    assert result.output == ORDER


async def test_what_does_not_fit_goes_back_with_both_ways_to_answer() -> None:
    bad = {"number": "A-1", "lines": [{"sku": "x", "count": 0, "note": None}]}
    async with serving([said(bad), said(GOOD)]) as provider:
        result = await typed(provider).run("go")

    assert result.output == ORDER
    note = provider.requests[1].body["messages"][-1]["content"]
    assert "lines[0].count: " in note
    assert "final_answer where you have that tool, else as JSON" in note


async def test_a_turn_without_tools_has_no_choice_of_one() -> None:
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(tools=[], tool_choice="none"))
    async with serving([said(GOOD)]) as provider:
        result = await typed(provider, hooks=hooks).run("go")

    assert result.output == ORDER
    assert {"tools", "tool_choice"}.isdisjoint(provider.requests[0].body)


@pytest.mark.parametrize(
    ("card", "choice"),
    [(STRUCTURED, "none"), (Card(), {"type": "function", "function": {"name": "final_answer"}})],
)
async def test_where_no_tool_may_be_called_the_answer_is_what_is_left(
    card: Card, choice: Any
) -> None:
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(tool_choice="none"))
    async with serving([said(GOOD)]) as provider:
        result = await typed(provider, hooks=hooks, asked={"card": card}).run("go")

    assert result.output == ORDER
    assert provider.requests[0].body["tool_choice"] == choice


async def test_a_recorded_answer_is_the_same_whatever_its_model_is_asked_by_later(
    store: Store,
) -> None:
    async with serving([Call("find_order", number="A-1"), said({"answer": [1]})]) as provider:
        async with App(agents=[typed(provider, list[int])], store=store) as app:
            run = await app.run("desk", "go")
        other = typed(provider, list[int], asked={"card": Card()})
        async with App(agents=[other], store=store) as app:
            again = await app.get(run.id)
            replayed = await app.replay(run.id)

    assert run.output == again.output == [1]
    assert again.text == "[1]"
    assert replayed is None


class Renamed(BaseModel):
    number: str = Field(alias="orderNumber")
    amount: int = Field(validation_alias="theAmount")


async def test_an_answer_has_the_names_that_its_schema_tells() -> None:
    answer = {"orderNumber": "A-1", "theAmount": 2}
    async with serving([said(answer)]) as provider:
        result = await typed(provider, Renamed).run("go")

    assert result.output == Renamed.model_validate(answer)


async def test_nulls_stand_for_what_is_left_out_however_many_there_are() -> None:
    lines = [{"sku": f"{each**5}", "count": 1, "note": None} for each in range(200)]
    many = {"number": "A-1", "lines": lines}
    async with serving([said(many)]) as provider:
        result = await typed(provider).run("go")

    assert isinstance(result.output, Order)
    assert [line.note for line in result.output.lines] == [""] * 200


async def test_a_null_that_is_missed_is_told_as_a_null() -> None:
    model = ScriptedModel([said({"number": None}), said({"number": "A-1"})])
    result = await Agent(
        name="desk", model=model, output=Order, budget=Budget(turns=3)
    ).run("go")  # fmt: skip

    assert result.output == Order(number="A-1")
    assert "number: Input should be a valid string" in model.requests[1].messages[-1].text


def required(ctx: Any) -> TurnPlan | None:
    return TurnPlan(tool_choice="required") if ctx.turn < 2 else None


def named(ctx: Any) -> TurnPlan | None:
    return TurnPlan(tool_choice="find_order") if ctx.turn < 2 else None


@pytest.mark.parametrize("prepare", [required, named])
async def test_an_answer_in_the_place_of_a_call_that_was_asked_for_goes_back(prepare: Any) -> None:
    script: list[Item] = [Say("It is there."), Call("find_order", number="A-1"), Say("Done")]
    model = ScriptedModel(script)
    agent = Agent[Any, Any](
        name="desk",
        model=model,
        tools=[find_order],
        budget=Budget(turns=8),
        hooks=Hooks(prepare_turn=prepare),
    )

    result = await agent.run("go")

    assert (result.finish, result.text, len(result.turns)) == ("answer", "Done", 3)
    assert [turn.text for turn in result.turns] == ["", "", "Done"]
    note = model.requests[1].messages[-1].text
    assert "came too early" in note


async def test_three_answers_in_the_place_of_a_call_exhaust_the_run() -> None:
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(tool_choice="required"))
    result = await Agent[Any, Any](
        name="desk",
        model=ScriptedModel([Say("It is there.")] * 3),
        tools=[find_order],
        budget=Budget(turns=8),
        hooks=hooks,
    ).run("go")

    assert (result.finish, result.reason) == ("exhausted", "invalid_output")


async def test_only_the_tool_that_was_named_may_run() -> None:
    @tool
    async def delete_order(number: str) -> str:
        """Deletes an order."""
        raise AssertionError("it ran")

    both = [Call("delete_order", number="A-1"), Call("find_order", number="A-1")]
    result = await Agent[Any, Any](
        name="desk",
        model=ScriptedModel([both, Say("Done")]),
        tools=[find_order, delete_order],
        budget=Budget(turns=8),
        hooks=Hooks(
            prepare_turn=lambda ctx: None if ctx.turn else TurnPlan(tool_choice="find_order")
        ),
    ).run("go")

    assert [getattr(message, "status", None) for message in result.messages][2:4] == [
        "refused",
        "ok",
    ]


async def test_an_answer_of_a_type_is_as_good_as_some_call() -> None:
    model = ScriptedModel([said(GOOD)])
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(tool_choice="required"))
    agent = Agent[Any, Any](
        name="desk",
        model=model,
        tools=[find_order],
        output=Order,
        budget=Budget(turns=3),
        hooks=hooks,
    )

    assert (await agent.run("go")).output == ORDER


def test_a_card_tells_of_the_means_with_true_or_false() -> None:
    with pytest.raises(ConfigError, match=r"Card\.structured"):
        Card(structured="yes")  # type: ignore[arg-type]  # the law is about that
