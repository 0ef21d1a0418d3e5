"""An agent as a tool: what can be one, what it takes, and what it gives."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from remit import Agent, Budget, tool
from remit.agent.inside import AgentTool
from remit.agent.toolbox import Inventory
from remit.errors import ConfigError
from remit.models.catalogue import Catalogue
from remit.models.pricing import Pricing
from remit.models.protocol import Card
from remit.testing.model import Call, Say, ScriptedModel
from tests.journeys.clerk import results
from tests.journeys.office import asked, chief, scout


class Trip(BaseModel):
    """A journey."""

    to: str
    days: int


def test_what_cannot_be_a_tool_is_refused_when_it_is_made() -> None:
    free = scout([])
    with pytest.raises(ConfigError, match="description"):
        free.as_tool(description=" ")
    with pytest.raises(ConfigError, match="tool name"):
        free.as_tool(description="x", name="no name")
    with pytest.raises(ConfigError, match="approval"):
        free.as_tool(description="x", approval="sometimes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="two tools named 'scout'"):
        chief([], free, free)


def test_a_budget_of_cost_needs_the_rates_of_every_agent_inside() -> None:
    bare = scout(ScriptedModel([], card=Card()))
    priced = Card(pricing=Pricing(input=1, output=1))
    mid = chief([], bare, name="mid")
    with pytest.raises(ConfigError, match="'scout', which works inside it, has no rates"):
        chief(ScriptedModel([], card=priced), mid, budget=Budget(cost="1.00"))


async def test_its_tool_does_nothing_outside_of_an_agent() -> None:
    found = scout([]).as_tool(description="x")
    with pytest.raises(ConfigError, match="another agent calls it"):
        await found(task="x")


def test_an_inventory_shows_the_agents_inside() -> None:
    @tool(needs={"mail"})
    async def send() -> str:
        """Sends."""
        return "sent"

    inner = scout([], [send], grant={"mail"})
    inside = chief([], inner).inventory(granted={"mail"}).tools[0].agent
    assert isinstance(inside, Inventory)
    assert (inside.agent, inside.grant) == ("scout", ())
    assert inside.tools[0].why_not == "the outer agent does not grant mail"


async def test_a_catalogue_of_its_own_names_its_model() -> None:
    own = Agent(
        name="scout",
        model="scripted:small",
        budget=Budget(turns=1),
        catalogue=Catalogue({"scripted:small": Card()}),
    )
    with pytest.raises(ConfigError, match="scripted"):
        await chief([], own).run("x")


def test_an_agent_tool_is_a_tool() -> None:
    found = scout([]).as_tool(description="Looks.", name="look", approval="always")
    assert isinstance(found, AgentTool)
    assert (found.name, found.approval, found.seconds, found.repeat) == (
        "look",
        "always",
        None,
        "safe",
    )


async def test_an_agent_with_a_type_of_input_is_given_values_of_it() -> None:
    inner = ScriptedModel([Say("done")])
    own = scout(inner, input=Trip, prompt=lambda trip: f"{trip.to} for {trip.days}")
    outer = [
        Call("scout", task={"to": "Rome"}),
        Call("scout", task={"to": "Rome", "days": 3}),
        Say("so"),
    ]
    agent = chief(outer, own)
    result = await agent.run("x")
    assert [message.status for message in results(result.messages)] == ["error", "ok"]
    assert asked(inner.requests[0]) == "Rome for 3"
    schema = agent.tools[0].schema
    assert schema["required"] == ["task"]
    assert "days" in str(schema)


async def test_an_agent_with_a_type_of_answer_gives_its_json() -> None:
    own = scout([Say('{"to": "Rome", "days": 3}')], output=Trip)
    result = await chief([Call("scout", task="x"), Say("so")], own).run("x")
    assert [message.text for message in results(result.messages)] == ['{"to":"Rome","days":3}']


async def test_a_task_that_cannot_be_asked_is_an_error_that_its_caller_reads() -> None:
    inner = scout([Say("done")])
    outer = [Call("scout", task="  "), Call("scout"), Call("scout", task="go"), Say("so")]
    result = await chief(outer, inner).run("x")
    assert [message.status for message in results(result.messages)] == ["error", "error", "ok"]
