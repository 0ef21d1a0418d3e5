"""A chief that lets agents work inside its calls, with effects that are counted outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit import Agent, Budget
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.testing.model import FREE, Call, Item, Say, ScriptedModel
from remit.tools.tool import Tool
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from tests.journeys.clerk import clerk, cut_short
from tests.journeys.desk import World, tools


def scout(script: Any, tools: Sequence[Tool] = (), **changes: Any) -> Agent[Any, Any]:
    """An agent that works inside another."""
    return clerk(script, tools, **({"name": "scout", "instructions": "Look."} | changes))


def chief(script: Any, *inner: Agent[Any, Any] | Tool, **changes: Any) -> Agent[Any, Any]:
    """An agent that may let `inner` work."""
    found = [
        each if isinstance(each, Tool) else each.as_tool(description=f"Lets {each.name} work.")
        for each in inner
    ]
    return clerk(script, found, **({"name": "chief"} | changes))


def asked(request: ModelRequest) -> str:
    """What the newest message of a person, or of a caller, says."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    return said[-1].text


def done(request: ModelRequest) -> list[ToolMessage]:
    """The results that the request holds."""
    return [message for message in request.messages if isinstance(message, ToolMessage)]


def long_lived(answer: Any, card: Card = FREE) -> ScriptedModel:
    """A model that answers by what it is asked, as often as it is."""
    model = cut_short([answer] * 200)
    model.card = card
    return model


def _seen(who: str, asked_of: list[str], request: ModelRequest) -> None:
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    asked_of.append(f"{who}:{asked(request)}:{turn}")


def office(world: World, asked_of: list[str], card: Card = FREE) -> Agent[Any, Any]:
    """A chief that lets two scouts work side by side, each with a lookup and a refund that needs
    a person, and then answers. `asked_of` notes every model call that is made."""

    def lead(request: ModelRequest) -> Item:
        _seen("chief", asked_of, request)
        found = done(request)
        if not found:
            return [Call("scout", task="A-1"), Call("scout", task="A-2")]
        return Say(" and ".join(message.text for message in found))

    def look(request: ModelRequest) -> Item:
        _seen("scout", asked_of, request)
        found, order = done(request), asked(request)
        if not found:
            return Call("find_order", number=order)
        if len(found) == 1:
            return Call("refund", order=order, amount=150)
        return Say(f"{order} {found[-1].text}")

    inner = scout(long_lived(look, card), tools(world), grant={"payments:write"})
    return chief(long_lived(lead, card), inner, grant={"payments:write"}, budget=Budget(turns=4))
