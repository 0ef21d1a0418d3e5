"""From a model request to the body of a Messages request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from remit.models.anthropic import blocks, schema
from remit.models.anthropic.caching import Kept, mark
from remit.models.request import ModelRequest, ToolSpec
from remit.models.wire.plain import clean
from remit.values.content import Call, Reasoning
from remit.values.messages import AssistantMessage, Message

Output = Literal["schema", "tool"]
Thinking = int | Literal["adaptive", "off"] | None

LEAST_THINKING = 1_024
"""The smallest budget of thinking that Anthropic takes, in tokens."""

_OFF = {"type": "disabled"}
_NOT_THERE = "Not available."


class Wishes(NamedTuple):
    """What every request of a model is to have."""

    thinking: Thinking
    output: Output
    cache: Kept | None
    options: Mapping[str, Any]


def build(request: ModelRequest, *, model: str, maker: str, wishes: Wishes) -> dict[str, Any]:
    """The body that asks `model`. `maker` is whose reasoning may be sent back.

    The same request gives the same bytes, and one turn more only adds to them at the end.
    """
    form = _form(request, wishes)
    tools = [tool for tool in request.tools if form is None or tool.name != _final(request)]
    body: dict[str, Any] = dict(wishes.options)
    choice = _choice(request.tool_choice, body.pop("tool_choice", None))
    body |= {"model": model, "max_tokens": request.max_output, "stream": True}
    if request.instructions.strip():
        body["system"] = [{"type": "text", "text": request.instructions}]
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
        if choice is not None:
            body["tool_choice"] = choice
    elif names := dict.fromkeys(call.name for call in _calls(request.messages)):
        # Some servers refuse a history with calls where no tools are declared.
        body["tools"] = [_tool(ToolSpec(name, _NOT_THERE, {})) for name in names]
        body["tool_choice"] = {"type": "none"}
    body["messages"] = blocks.turns(request.messages, maker)
    body |= _thinking(request, maker, wishes)
    if form is not None:
        format = {"type": "json_schema", "schema": form}
        body["output_config"] = body.get("output_config", {}) | {"format": format}
    if wishes.cache is not None:
        mark(body, wishes.cache)
    return clean(body)  # type: ignore[no-any-return]  # a dict stays a dict


def _form(request: ModelRequest, wishes: Wishes) -> dict[str, Any] | None:
    """The schema that the answer's text is held to; None where the final tool takes it."""
    if request.output is None or wishes.output == "tool":
        return None
    forced = request.tool_choice in ("required", request.output.tool)
    return None if forced else schema.fitted(request.output.schema)


def _final(request: ModelRequest) -> str | None:
    return None if request.output is None else request.output.tool


def _tool(tool: ToolSpec) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}} | tool.schema
    return {"name": tool.name, "description": tool.description, "input_schema": parameters}


def _calls(messages: Iterable[Message]) -> Iterable[Call]:
    for message in messages:
        if isinstance(message, AssistantMessage):
            yield from message.calls


def _choice(choice: str, otherwise: Any) -> Any:
    if choice == "auto":
        return otherwise
    if choice == "none":
        return {"type": "none"}
    return {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}


def _thinking(request: ModelRequest, maker: str, wishes: Wishes) -> dict[str, Any]:
    """The field that turns thinking on, or off where Anthropic would refuse it: with a tool that
    must be called, and in the middle of a turn that began without."""
    wish = _wish(wishes)
    if wish is None:
        return {}
    if request.tools and request.tool_choice not in ("auto", "none"):
        return {"thinking": _OFF}
    if wish.get("type") != "enabled":
        return {"thinking": wish}
    room = request.max_output - 1
    if room < LEAST_THINKING or _began_without(request.messages, maker):
        return {"thinking": _OFF}
    return {"thinking": wish | {"budget_tokens": min(wish["budget_tokens"], room)}}


def _wish(wishes: Wishes) -> dict[str, Any] | None:
    match wishes.thinking:
        case None:
            given = wishes.options.get("thinking")
            return given if given is None else dict(given)
        case "off":
            return _OFF
        case "adaptive":
            return {"type": "adaptive"}
        case budget:
            return {"type": "enabled", "budget_tokens": budget}


def _began_without(messages: Sequence[Message], maker: str) -> bool:
    """Whether the newest answer asked for calls without thinking first."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            first = message.content[0] if message.content else None
            thought = isinstance(first, Reasoning) and first.maker == maker and first.signature
            return bool(message.calls) and not thought
    return False
