"""From a model request to the body of a Responses request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from remit.models.openai_responses.items import items
from remit.models.openai_responses.schemas import closed
from remit.models.request import ModelRequest, ToolSpec
from remit.models.wire.plain import clean

Body = dict[str, Any]

_ENCRYPTED = "reasoning.encrypted_content"


class Wishes(NamedTuple):
    """How a model is to be asked: whether it reasons, whether items go back under their ids,
    whether an answer's form is the server's business, and further fields."""

    reasons: bool
    ids: bool
    formed: bool
    options: Mapping[str, Any]


def build(request: ModelRequest, *, model: str, maker: str, wishes: Wishes) -> Body:
    """The body that asks `model`; nothing of it is to be stored by the server.

    The same request gives the same bytes, and one turn more only adds to them at the end, which
    is what caches of prompts go by. `maker` is whose reasoning may be sent back.
    """
    body: Body = {"model": model, "stream": True, "store": False}
    if wishes.reasons:
        body["include"] = [_ENCRYPTED]
    if request.instructions.strip():
        body["instructions"] = request.instructions
    body["max_output_tokens"] = request.max_output
    form = _format(request) if wishes.formed else None
    tools = [tool for tool in request.tools if form is None or tool.name != form["name"]]
    if tools:
        body["tools"] = [_function(tool) for tool in tools]
        choice = _choice(request.tool_choice, tools, form is not None)
        if choice != "auto":
            body["tool_choice"] = choice
    body |= wishes.options
    if form is not None:
        body["text"] = {**wishes.options.get("text", {}), "format": form}
    body["input"] = items(request.messages, maker if wishes.reasons else "", ids=wishes.ids)
    return clean(body)  # type: ignore[no-any-return]  # a dict stays a dict


def _format(request: ModelRequest) -> Body | None:
    """The form of the answer, where the server can hold a model to it."""
    output = request.output
    if output is None:
        return None
    schema = output.strict or closed(output.schema, narrow=True)
    if schema is None:
        return None
    return {"type": "json_schema", "name": output.tool, "schema": schema, "strict": True}


def _choice(choice: str, tools: Iterable[ToolSpec], formed: bool) -> Any:
    """What may be called, where an answer that is `formed` stands for the tool that gives it."""
    if formed and choice == "required":
        return "auto"
    if choice in ("auto", "none", "required"):
        return choice
    if formed and not any(tool.name == choice for tool in tools):
        return "none"
    return {"type": "function", "name": choice}


def _function(tool: ToolSpec) -> Body:
    strict = closed(tool.schema, narrow=False)
    parameters = {"type": "object", "properties": {}} | tool.schema
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters if strict is None else strict,
        # Left out it would stand for true.
        "strict": strict is not None,
    }
