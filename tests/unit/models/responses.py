"""Asking a scripted server that speaks Responses, through the adapter and the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from remit.models.assemble import Assembly
from remit.models.openai_responses import OpenAIResponses
from remit.models.request import Chunk, ModelRequest
from tests.loopback import Loopback, Reply, events, loopback
from tests.unit.models.asking import KEY, asked, tool

Event = dict[str, Any]
USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 14,
}


def model(server: Loopback, **options: Any) -> OpenAIResponses:
    return OpenAIResponses("gpt-test", **{"base_url": server.base_url, "api_key": KEY} | options)


async def chunks_of(model: OpenAIResponses, request: ModelRequest | None = None) -> list[Chunk]:
    async with aclosing(model.stream(request or asked())) as stream:  # type: ignore[type-var]
        return [chunk async for chunk in stream]


async def assembled(model: OpenAIResponses, request: ModelRequest | None = None) -> Assembly:
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


def body_of(request: ModelRequest, **options: Any) -> dict[str, Any]:
    """What is sent for a request."""
    return OpenAIResponses("gpt-test", **options).body(request)


def event(kind: str, at: int = 0, **fields: Any) -> Event:
    return {"type": f"response.{kind}", "output_index": at, **fields}


def added(item: Event, at: int = 0) -> Event:
    return event("output_item.added", at, item=item)


def done(item: Event, at: int = 0) -> Event:
    return event("output_item.done", at, item=item)


def ended(status: str = "completed", **fields: Any) -> Event:
    return {"type": f"response.{status}", "response": {"status": status, "usage": USAGE} | fields}


def message(text: str = "", id: str = "msg_1", **fields: Any) -> Event:
    content = [{"type": "output_text", "text": text}] if text else []
    return {"type": "message", "id": id, "role": "assistant", "content": content} | fields


def call(arguments: Any = "{}", name: str = "find_order", id: str = "fc_1") -> Event:
    return {"type": "function_call", "id": id, "call_id": "c", "name": name} | (
        {} if arguments is None else {"arguments": arguments}
    )


def thought(id: str = "rs_1", text: str = "", **fields: Any) -> Event:
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "gAAA"} | fields


def stream(*sent: Event) -> Reply:
    """A reply of these events, one piece each."""
    return Reply([events(each, done=False) for each in sent])
