"""Asking a scripted server through the adapter and the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from remit.models.assemble import Assembly
from remit.models.openai_chat import OpenAIChat
from remit.models.request import Chunk, ModelRequest, TextChunk, ToolSpec, UsageChunk
from remit.values.content import Text
from remit.values.messages import Message, UserMessage
from remit.values.usage import Usage
from tests.loopback import Loopback, Reply, loopback

KEY = "sk-test-0123456789abcdef"


def tool(name: str = "find_order", **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name, "Finds an order.", schema)


def asked(*messages: Message, tools: Sequence[ToolSpec] = (), **fields: Any) -> ModelRequest:
    """A request; one that says hello unless told otherwise."""
    given = messages or (UserMessage((Text("Hello"),)),)
    fields = {"instructions": "Help."} | fields
    return ModelRequest(messages=given, tools=tuple(tools), **fields)


def model(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("gpt-test", **{"base_url": server.base_url, "api_key": KEY} | options)


async def chunks_of(model: OpenAIChat, request: ModelRequest | None = None) -> list[Chunk]:
    async with aclosing(model.stream(request or asked())) as stream:  # type: ignore[type-var]
        return [chunk async for chunk in stream]


async def assembled(model: OpenAIChat, request: ModelRequest | None = None) -> Assembly:
    """The whole answer, as the agent's loop puts it together."""
    assembly = Assembly()
    for chunk in await chunks_of(model, request):
        assembly.add(chunk)
    assembly.close()
    return assembly


async def answer_to(
    reply: Reply, *, tools: Sequence[str] = (), tools_mode: str = "native", **options: Any
) -> Assembly:
    """What one reply of a server becomes."""
    async with loopback(reply) as server:
        request = asked(tools=[tool(name) for name in tools])
        return await assembled(model(server, tools=tools_mode, **options), request)


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


def usage_of(assembly: Assembly) -> Usage:
    assert assembly.usage is not None
    return assembly.usage


def usages(chunks: Sequence[Chunk]) -> list[Usage]:
    return [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)]
