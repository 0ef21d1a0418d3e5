"""What reading along costs, and what a long history does."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic import BaseModel

from benchmarks import desk
from benchmarks.measure import compare
from remit import Agent, App, Budget, Event
from remit.agent.history import History
from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest, TextChunk
from remit.store.memory import MemoryStore
from remit.values.content import Call, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

Report = Callable[[str, str, str], None]
PIECES = 2000
MESSAGES = 400


class Row(BaseModel):
    """A row of a long answer."""

    number: int
    words: str


class Awaited:
    """Streams one answer, whose rest comes when somebody has read its beginning."""

    name, card = "bench:awaited", Card()

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.is_read = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for number, piece in enumerate(self.pieces):
            yield TextChunk(piece)
            if number == len(self.pieces) // 1000:
                await self.is_read.wait()


async def run(report: Report) -> None:
    """Report a streamed event, of text and of a type, a stalled reader and a long history."""
    texts = [f"word{number} " for number in range(PIECES)]
    for what, pieces, output in (
        ("one streamed event", texts, None),
        ("one piece of a typed answer", rows(PIECES // 10, 5), list[Row]),
    ):
        await _events(report, what, pieces, output)
    for what, output in (("text", None), ("a typed answer", list[Row])):
        held_ = await held(output)
        report(f"a stalled reader of {what}", f"{held_ / 2**20:.1f} MiB", "under 5 MiB")
    await _history(report)


async def held(output: Any) -> int:
    """How many bytes a reader holds that stopped after the first piece of an answer of 220 KB."""
    model = Awaited(rows(4_000, 12))
    agent = Agent[None, Any](name="talk", model=model, output=output, budget=Budget(turns=1))
    async with App(agents=[agent], store=MemoryStore()) as app:
        tracemalloc.start()
        try:
            run = await app.start("talk", "go")
            events = app.events(run)
            await anext(events)
            model.is_read.set()
            await app.wait(run)
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            await events.aclose()  # type: ignore[attr-defined]  # a generator
            gc.collect()
            return before - tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()


def rows(count: int, size: int) -> list[str]:
    """So many rows as JSON, in pieces of this size; no two are equal."""
    plain = [{"number": n, "words": f"{n * 7919} words of row {n}"} for n in range(count)]
    text = json.dumps(plain)
    return [text[at : at + size] for at in range(0, len(text), size)]


async def _events(report: Report, what: str, pieces: list[str], output: Any) -> None:
    model = desk.Talking(0)
    model.pieces = pieces
    agent = Agent[None, Any](name="talk", model=model, output=output, budget=Budget(turns=1))
    seen: list[Event] = []

    async def bare() -> list[str]:
        async def stream() -> AsyncIterator[str]:
            for piece in pieces:
                yield piece

        return [piece async for piece in stream()]

    async def told() -> None:
        seen.clear()
        await agent.run("go", on_event=seen.append)

    found = await compare(told, bare)
    report(
        f"{what}, with detector and brakes",
        f"{found.subject / len(pieces):.2f} µs, {found.ratio:.1f} × a bare generator",
        "under 3 µs",
    )


async def _history(report: Report) -> None:
    messages = tuple(_conversation(MESSAGES))
    card = Card()

    async def checked() -> None:
        History("bench:scripted", card).valid(messages)

    async def looked_at() -> int:
        return sum([type(message) is ToolMessage for message in messages])

    found = await compare(checked, looked_at)
    report(
        f"the check of a history of {MESSAGES} messages",
        f"{found.subject:.0f} µs, {found.ratio:.1f} × a look at each message's type",
        "under 50 µs",
    )
    history = History("bench:scripted", card)
    history.valid(messages)

    async def again() -> None:
        history.valid((*messages,))

    found = await compare(again, looked_at)
    report("the same before a run's later calls", f"{found.subject:.1f} µs", "next to nothing")


def _conversation(count: int) -> list[Message]:
    found: list[Message] = []
    for n in range(count // 4):
        call = Call(f"call_0123456789_{n}_0", "look_up", {"city": n, "name": "Oslo"}, f"run/{n}/0")
        found += [
            UserMessage((Text(f"Where is city {n}, please?"),)),
            AssistantMessage((Text("Let me see."), call), "bench:scripted"),
            ToolMessage(call.id, "look_up", f"Oslo is city {n}"),
            AssistantMessage((Text(f"It is city {n}."),), "bench:scripted"),
        ]
    return found
