"""Asking a scripted server for Gemini's answers, through the adapter and the official SDK."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from remit.models.assemble import Assembly
from remit.models.google import GoogleGemini
from remit.models.request import Chunk, ModelRequest
from tests.loopback import Loopback, Reply, loopback
from tests.unit.models.asking import asked, tool

KEY = "AIzaSyTest0123456789abcdef"


def base_url(server: Loopback) -> str:
    return f"http://127.0.0.1:{server.port}"


def model(server: Loopback, **options: Any) -> GoogleGemini:
    return GoogleGemini("gemini-test", **{"base_url": base_url(server), "api_key": KEY} | options)


async def chunks_of(model: GoogleGemini, request: ModelRequest | None = None) -> list[Chunk]:
    async with aclosing(model.stream(request or asked())) as stream:  # type: ignore[type-var]
        return [chunk async for chunk in stream]


async def into(seen: list[Chunk], model: GoogleGemini, request: ModelRequest | None = None) -> None:
    """Put all chunks into `seen`, also those before an error."""
    async with aclosing(model.stream(request or asked())) as stream:  # type: ignore[type-var]
        async for chunk in stream:
            seen.append(chunk)


async def assembled(model: GoogleGemini, request: ModelRequest | None = None) -> Assembly:
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


def chunk(*parts: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of one candidate."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate]} | fields


def used(prompt: int, said: int = 0, thought: int = 0, **counts: int) -> dict[str, int]:
    """A report of usage; a count of 0 is left out of it."""
    told = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": said,
        "thoughtsTokenCount": thought,
        "totalTokenCount": prompt + said + thought + counts.get("toolUsePromptTokenCount", 0),
    }
    return {name: count for name, count in (told | counts).items() if count}


def events(*chunks: object) -> bytes:
    """Chunks as Gemini sends them."""
    return "".join(f"data: {json.dumps(each)}\r\n\r\n" for each in chunks).encode()


def stream(*chunks: object, **options: Any) -> Reply:
    """A reply of these chunks, one piece each."""
    return Reply([events(each) for each in chunks], **options)


def call(name: str = "find_order", signature: str | None = None, **args: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": args}}
    return part if signature is None else part | {"thoughtSignature": signature}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"text": words} | fields
