"""What is refused when an agent is made, and what one is."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from remit import Agent, Budget, Caller, Card, Catalogue, Pricing, tool
from remit.errors import ConfigError, RemitError, UserIdError
from remit.models.request import Chunk, ModelRequest
from remit.testing.model import Say, ScriptedModel


@tool
async def look(number: str) -> str:
    """Looks a number up."""
    return number


@tool(name="look")
async def look_again(number: str) -> str:
    """Looks a number up as well."""
    return number


@tool(needs={"payments:write"})
async def pay(amount: int) -> str:
    """Pays."""
    return str(amount)


def an_agent(**changes: Any) -> Agent[Any, Any]:
    options: dict[str, Any] = {"name": "desk", "model": "a:b", "budget": Budget(turns=2)}
    return Agent(**(options | changes))


class Priceless:
    """A model without rates."""

    name = "own:model"
    card = Card()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        raise AssertionError("it is not asked")
        yield


WRONG = {
    "a name with a space": ({"name": "help desk"}, "letters"),
    "an empty name": ({"name": ""}, "letters"),
    "a name and a newline": ({"name": "desk\n"}, "letters"),
    "a name beyond ASCII": ({"name": "d\u0435sk"}, "letters"),
    "a name that is too long": ({"name": "d" * 65}, "64"),
    "a name that is no text": ({"name": None}, "letters"),
    "a version with an @": ({"version": "1@2"}, "letters"),
    "a version that is a number": ({"version": 2}, "letters"),
    "no budget": ({"budget": None}, r"budget=Budget\(turns="),
    "a budget that is a number": ({"budget": 5}, r"budget=Budget\(turns="),
    "instructions that are no text": ({"instructions": None}, "text"),
    "no calls at once": ({"parallel": 0}, "at least 1"),
    "half a call at once": ({"parallel": 1.5}, "at least 1"),
    "a yes for the calls at once": ({"parallel": True}, "at least 1"),
    "answers without tokens": ({"max_output": 0}, "at least 1"),
    "a plain function": ({"tools": [print]}, "@tool"),
    "a tool without its list": ({"tools": look}, "list"),
    "a text for tools": ({"tools": "look"}, "@tool"),
    "two tools of one name": ({"tools": [look, look_again]}, "name="),
    "a grant that is one string": ({"grant": "payments:write"}, "set"),
    "a grant that is a number": ({"grant": 5}, "set"),
    "a capability that is blank": ({"grant": {" "}}, "capability"),
    "a capability that is no text": ({"grant": {5}}, "capability"),
    "a model without a provider": ({"model": "sonnet"}, "provider:name, like 'openai:"),
    "a model's name with a newline": ({"model": "a:b\n"}, "provider:name"),
    "no model": ({"model": None}, "provider:name"),
    "an object that is no model": ({"model": object()}, "provider:name"),
    "a model whose card is none": (
        {"model": type("Cardless", (Priceless,), {"card": {}})()},
        "Card",
    ),
    "no models": ({"model": []}, "a list with one"),
    "a model twice": ({"model": ["a:b", "c:d", "a:b"]}, r"'a:b' twice.*Retry"),
    "a list with what is no model": ({"model": ["a:b", None]}, "provider:name"),
    "a list with a name that is none": ({"model": ["a:b", "c"]}, "provider:name"),
    "no model that is switched on": (
        {"model": ["a:b"], "catalogue": Catalogue({"a:b": Card(enabled=False)})},
        r"Card\(enabled=True\)",
    ),
    "a cost budget and a second model without rates": (
        {
            "budget": Budget(cost=1),
            "model": ["a:b", "a:c"],
            "catalogue": Catalogue({"a:b": Card(pricing=Pricing(input=1, output=1))}),
        },
        r"'a:c' no rates.*Card\(pricing=",
    ),
    "a retry that is none": ({"retry": 3}, r"Retry\(…\).*attempts=1"),
    "a catalogue that is a dict": ({"catalogue": {"a:b": Card()}}, "Catalogue"),
    "a cost budget without rates": ({"budget": Budget(cost=1)}, r"Card\(pricing="),
    "a cost budget and a model without rates": (
        {"budget": Budget(cost=1), "model": Priceless()},
        r"Card\(pricing=",
    ),
}


@pytest.mark.parametrize(("changes", "mend"), WRONG.values(), ids=WRONG)
def test_a_wrong_agent_is_refused_when_it_is_made(changes: dict[str, Any], mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        an_agent(**changes)


def test_an_agent_needs_to_be_told_its_budget() -> None:
    with pytest.raises(TypeError, match="budget"):
        Agent(name="desk", model="a:b")  # type: ignore[call-arg]  # this is what is refused


def test_an_agent_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        an_agent().name = "other"  # type: ignore[misc]  # this is what is refused


def test_what_an_agent_was_given_may_change_without_changing_it() -> None:
    tools, grant = [look], {"payments:write"}
    agent = an_agent(tools=tools, grant=grant)
    tools.clear()
    grant.clear()
    assert agent.tools == (look,)
    assert agent.granted == {"payments:write"}


def test_tools_may_come_from_anything_that_gives_them_once() -> None:
    assert an_agent(tools=iter([look])).tools == (look,)


def test_a_replaced_agent_is_checked_like_a_new_one() -> None:
    agent = an_agent(tools=[look])
    other = agent.replace(instructions="Be brief.", budget=Budget(turns=1))
    assert (other.instructions, other.tools) == ("Be brief.", (look,))
    assert agent.instructions == ""
    with pytest.raises(ConfigError, match="two tools"):
        agent.replace(tools=[look, look_again])
    with pytest.raises(ConfigError, match="no colour"):
        agent.replace(colour="red")


@pytest.mark.parametrize("user", ["", " ", "a b", "anna@example.com", "ü", "u" * 65, "u\n", 5])
@pytest.mark.parametrize("kind", ["user", "tenant"])
async def test_an_id_of_another_shape_is_refused_before_any_call(kind: str, user: Any) -> None:
    model = ScriptedModel([])
    given: dict[str, Any] = {kind: user}
    with pytest.raises(UserIdError, match="app's own id") as caught:
        await an_agent(model=model).run("Hello", **given)
    assert (caught.value.kind, caught.value.value) == (kind, user)
    with pytest.raises(UserIdError):
        an_agent(model=model).stream("Hello", **given)
    assert not model.requests


async def test_an_id_of_every_allowed_character_is_taken() -> None:
    for user in ("u_17", "A-Z.a-z:0-9", "u" * 64):
        result = await an_agent(model=ScriptedModel([Say("hi")])).run("Hello", user=user)
        assert result.finish == "answer"


@pytest.mark.parametrize("message", ["", " \n\t", None, ["Hello"], b"Hello"])
async def test_a_message_without_text_is_refused_before_any_call(message: Any) -> None:
    with pytest.raises(ConfigError, match="message"):
        await an_agent(model=ScriptedModel([])).run(message)


@pytest.mark.parametrize(
    "by",
    ["staff_1", 5, Caller(user="Ann Lee"), Caller(tenant="")],
)
async def test_who_is_no_caller_with_an_id_cannot_ask(by: Any) -> None:
    with pytest.raises(RemitError, match=r"by[=.]"):
        await an_agent(model=ScriptedModel([])).run("Hello", by=by)


async def test_a_model_without_an_adapter_says_what_to_give_instead() -> None:
    with pytest.raises(ConfigError, match=r"no adapter.*name.*card.*stream"):
        await an_agent().run("Hello")


async def test_a_tool_is_shown_only_where_its_needs_are_granted() -> None:
    model = ScriptedModel([Say("a"), Say("b")])
    agent = an_agent(model=model, tools=[look, pay])
    await agent.run("Hello")
    await agent.replace(grant={"payments:write", "more"}).run("Hello")
    shown = [[spec.name for spec in request.tools] for request in model.requests]
    assert shown == [["look"], ["look", "pay"]]


async def test_a_model_is_asked_for_no_more_than_its_card_allows() -> None:
    small = Card(pricing=Pricing(input=0, output=0), max_output=100)
    model = ScriptedModel([Say("a"), Say("b")], card=small)
    await an_agent(model=model).run("Hello")
    await an_agent(model=model, max_output=50).run("Hello")
    assert [request.max_output for request in model.requests] == [100, 50]


def test_the_description_of_an_agent_calls_nothing() -> None:
    """The name of a model is checked and priced, and nothing of its provider is loaded."""
    rates = Catalogue({"a:b": Card(pricing=Pricing(input=3, output=15))})
    agent = an_agent(budget=Budget(cost="0.20"), catalogue=rates)
    assert agent.card.pricing == Pricing(input=3, output=15)
