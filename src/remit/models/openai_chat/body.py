"""From a model request to the body of a Chat Completions request."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remit.models.openai_chat import files
from remit.models.openai_chat.dialect import Dialect
from remit.models.openai_chat.history import Answered, Said, mended
from remit.models.openai_chat.pieces import DETAILS, FIELDS
from remit.models.request import ModelRequest, ToolSpec
from remit.models.wire.plain import clean
from remit.values.content import Call, Reasoning

_EMPTY_RESULT = "(empty)"

Turns = Iterable[Said | Answered]


def build(
    request: ModelRequest, *, model: str, maker: str, dialect: Dialect, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The body that asks `model`, with the tools described as functions.

    The same request gives the same bytes, and one turn more only adds to them at the end, which
    is what caches of prompts go by. `maker` is whose reasoning may be sent back.
    """
    turns = mended(request.messages, maker)
    body = plain(request, model=model, dialect=dialect)
    body["messages"] = [*opening(request.instructions, dialect), *messages(turns, dialect)]
    if request.tools:
        body["tools"] = [_function(tool) for tool in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = _choice(request.tool_choice)
    return clean(body | dict(options))  # type: ignore[no-any-return]  # a dict stays a dict


def plain(request: ModelRequest, *, model: str, dialect: Dialect) -> dict[str, Any]:
    """The fields that every request has."""
    body: dict[str, Any] = {"model": model, "messages": [], "stream": True}
    if dialect.usage:
        body["stream_options"] = {"include_usage": True}
    body[dialect.cap] = request.max_output
    return body


def opening(instructions: str, dialect: Dialect) -> list[dict[str, Any]]:
    """The message that holds the instructions, where there are any."""
    if not instructions.strip():
        return []
    return [{"role": dialect.instructions, "content": instructions}]


def messages(turns: Turns, dialect: Dialect) -> Iterable[dict[str, Any]]:
    """The conversation, each call followed by its result."""
    id_of: Callable[[Call], str] = _short_id if dialect.short_ids else _id
    for turn in turns:
        if isinstance(turn, Said):
            yield {"role": "user", "content": turn.text or files.content(turn.parts)}
            continue
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        message |= _reasoning(turn.reasoning)
        if turn.calls:
            message["tool_calls"] = [_call(call, id_of(call)) for call, _ in turn.calls]
        yield message
        for call, result in turn.calls:
            content = result.text if result.text.strip() else _EMPTY_RESULT
            yield {"role": "tool", "tool_call_id": id_of(call), "content": content}


def answers(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field that keeps an answer to `schema`, which is in the form of strict modes."""
    kept = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": kept}}


def as_json(value: object) -> str:
    """`value` as JSON text without NaN and without half characters."""
    return json.dumps(
        clean(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str
    )


def _choice(choice: str) -> Any:
    if choice in ("none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _function(tool: ToolSpec) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}} | tool.schema
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _call(call: Call, id: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": as_json(call.arguments)}
    return {"id": id, "type": "function", "function": function}


def _reasoning(parts: tuple[Reasoning, ...]) -> dict[str, Any]:
    """The model's own reasoning in the field in which it came."""
    for part in parts:
        if part.signature and part.signature.startswith("["):
            return {DETAILS: json.loads(part.signature)}
    fields: dict[str, str] = {}
    for part in parts:
        if part.signature in FIELDS:
            fields[part.signature] = fields.get(part.signature, "") + part.text
    return fields


def _id(call: Call) -> str:
    return call.id


def _short_id(call: Call) -> str:
    digest = hashlib.sha256(call.id.encode()).digest()
    return base64.b32encode(digest).decode()[:9]
