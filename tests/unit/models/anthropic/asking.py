"""Asking a scripted server for Messages, through the adapter and the official SDK."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Any

from remit.models.anthropic import AnthropicMessages
from remit.models.assemble import Assembly
from remit.models.request import Chunk, ModelRequest
from tests.loopback import Loopback, Reply, loopback
from tests.unit.models.asking import asked, tool

KEY = "sk-ant-test-0123456789abcdef"
Event = dict[str, Any]


def model(server: Loopback, **options: Any) -> AnthropicMessages:
    return AnthropicMessages("claude-test", **{"base_url": url(server), "api_key": KEY} | options)


def url(server: Loopback) -> str:
    return f"http://127.0.0.1:{server.port}"


async def chunks_of(model: AnthropicMessages, request: ModelRequest | None = None) -> list[Chunk]:
    async with aclosing(model.stream(request or asked())) as stream:  # type: ignore[type-var]
        return [chunk async for chunk in stream]


async def assembled(model: AnthropicMessages, request: ModelRequest | None = None) -> Assembly:
    """The whole answer, as the agent's loop puts it together."""
    assembly = Assembly()
    for chunk in await chunks_of(model, request):
        assembly.add(chunk)
    assembly.close()
    return assembly


async def answer_to(reply: Reply, *, tools: Sequence[str] = (), **options: Any) -> Assembly:
    """What one reply of a server becomes."""
    async with loopback(reply) as server:
        request = asked(tools=[tool(name) for name in tools])
        return await assembled(model(server, **options), request)


def begun(**usage: int) -> Event:
    """The first event of an answer."""
    return {"type": "message_start", "message": {"content": [], "usage": usage}}


def block(index: int, kind: str, *deltas: Event, **fields: Any) -> list[Event]:
    """The events of one block."""
    at = {"index": index}
    return [
        {"type": "content_block_start", "content_block": {"type": kind} | fields} | at,
        *({"type": "content_block_delta", "delta": delta} | at for delta in deltas),
        {"type": "content_block_stop"} | at,
    ]


def text(index: int, *pieces: str) -> list[Event]:
    return block(index, "text", *({"type": "text_delta", "text": p} for p in pieces), text="")


def call(index: int, name: str, *pieces: str, **fields: Any) -> list[Event]:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    given = {"id": f"toolu_{index}", "name": name, "input": {}} | fields
    return block(index, "tool_use", *deltas, **given)


def thinking(index: int, thought: str, signature: str | None) -> list[Event]:
    deltas: list[Event] = [{"type": "thinking_delta", "thinking": thought}]
    if signature is not None:
        deltas.append({"type": "signature_delta", "signature": signature})
    return block(index, "thinking", *deltas, thinking="", signature="")


def finished(reason: str | None, details: object = None, **usage: int) -> list[Event]:
    """The last events of an answer."""
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    told = {"usage": usage} if usage else {}
    return [{"type": "message_delta", "delta": delta} | told, {"type": "message_stop"}]


def framed(events: Iterable[Event], newline: str = "\n") -> list[bytes]:
    """Events as they stand in a stream, their characters as they are."""
    return [
        newline.join(
            [f"event: {event['type']}", f"data: {json.dumps(event, ensure_ascii=False)}", "", ""]
        ).encode("utf-8", "surrogatepass")
        for event in events
    ]


def streamed(*events: Event, **reply: Any) -> Reply:
    """A reply of these events, one piece each."""
    return Reply(framed(events), **reply)


def failing(kind: str, words: str = "Try later", **fields: Any) -> Event:
    """An error, as it stands in a stream and in a refusal."""
    return {"type": "error", "error": {"type": kind, "message": words} | fields}
