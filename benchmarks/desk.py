"""The floor's agent, made with remit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from remit import Agent, Budget, Pricing, Usage, tool
from remit.models.protocol import Card
from remit.models.request import (
    CallChunk,
    Chunk,
    ModelRequest,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.values.messages import ToolMessage


@tool
async def look_up(city: int, name: str) -> str:
    """Looks a city up."""
    return f"{name} is city {city}"


class Scripted:
    """Asks for one call `tool_turns` times, and then answers."""

    name = "bench:scripted"
    card = Card(pricing=Pricing(input=3, output=15))

    def __init__(self, tool_turns: int, delay: float = 0.0) -> None:
        self.tool_turns, self.delay = tool_turns, delay

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        if self.delay:
            await asyncio.sleep(self.delay)
        done = sum(1 for message in request.messages if type(message) is ToolMessage)
        if done == self.tool_turns:
            yield TextChunk("done")
            yield UsageChunk(Usage(input_tokens=40, output_tokens=2))
            yield StopChunk("end")
            return
        yield CallChunk(0, "look_up", json.dumps({"city": done, "name": "Oslo"}))
        yield UsageChunk(Usage(input_tokens=40, output_tokens=12))
        yield StopChunk("calls")


class Talking:
    """Streams one answer of many pieces."""

    name = "bench:talking"
    card = Card()

    def __init__(self, pieces: int) -> None:
        # No two are equal: brakes would stop an answer that repeats itself.
        self.pieces = [f"word{number} " for number in range(pieces)]

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for piece in self.pieces:
            yield TextChunk(piece)


def agent(tool_turns: int, delay: float = 0.0) -> Agent[None, str]:
    """The floor's agent with a budget for its turns."""
    return Agent(
        name="bench",
        model=Scripted(tool_turns, delay),
        tools=[look_up],
        budget=Budget(turns=tool_turns + 1),
    )
