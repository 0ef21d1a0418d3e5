"""Laws of what a step costs, in figures that do not depend on the machine or its load."""

from __future__ import annotations

import asyncio
import cProfile
import gc
import json
import pstats
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from benchmarks import desk
from benchmarks.durable import stored
from remit import Agent, App, Budget, Event
from remit.models.request import Chunk, ModelRequest, TextChunk
from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.testing.model import FREE

STEPS = 10
CALLS = 300
KIB = 0.8
"""What a step may add to a SQLite file: its two entries, and a row of the ledger."""
STALLED_MIB = 5
"""What a reader that has stopped reading may hold."""


async def test_a_step_makes_fewer_than_300_function_calls() -> None:
    agent = desk.agent(STEPS - 1)
    await agent.run("go")

    profile = cProfile.Profile()
    profile.enable()
    await agent.run("go")
    profile.disable()

    calls: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]  # untyped
    assert calls / STEPS < CALLS


@contextmanager
def collected() -> Iterator[Counter[str]]:
    """What of ours only the garbage collector could free in this block, by type."""
    found: Counter[str] = Counter()
    gc.collect()
    # What was there before, a thread that another test left behind perhaps, is no concern here.
    gc.freeze()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found.update(
            type(each).__qualname__
            for each in gc.garbage
            if type(each).__module__.startswith(("remit.", "benchmarks."))
        )
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()


async def test_a_run_without_a_store_leaves_nothing_for_the_garbage_collector() -> None:
    agent = desk.agent(STEPS - 1)
    await agent.run("go")

    with collected() as found:
        await agent.run("go")

    assert not found


async def test_a_stored_run_leaves_nothing_for_the_garbage_collector(store: Store) -> None:
    async with App(agents=[desk.agent(STEPS - 1)], store=store) as app:
        await app.run("bench", "go")

        with collected() as found:
            for _ in range(3):
                await app.run("bench", "go")

    assert not found


class Row(BaseModel):
    """A row of a long answer."""

    number: int
    words: str


class Awaited:
    """Streams one answer, whose rest comes when somebody has read its beginning."""

    name, card = "own:awaited", FREE

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.is_read = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for piece in self.pieces:
            yield TextChunk(piece)
            if piece is self.pieces[9]:
                await self.is_read.wait()


@pytest.mark.parametrize("output", [None, list[Row]])
async def test_a_reader_that_has_stopped_holds_little(output: Any) -> None:
    """However long the answer is: 20,000 pieces, and where it is of a type, what can be read of
    it on the way."""
    rows = [{"number": n, "words": f"{n * 7919} words of row {n}"} for n in range(4_000)]
    text = json.dumps(rows)
    model = Awaited([text[at : at + 12] for at in range(0, len(text), 12)])
    agent = Agent[None, Any](name="talk", model=model, output=output, budget=Budget(turns=1))
    async with App(agents=[agent], store=MemoryStore()) as app:
        tracemalloc.start()
        run = await app.start("talk", "go")
        events = app.events(run)
        await anext(events)
        model.is_read.set()
        await app.wait(run)
        held = await _freed(events)
        tracemalloc.stop()
    assert len(model.pieces) > 15_000
    assert 10_000 < held < STALLED_MIB * 2**20


async def _freed(events: AsyncIterator[Event]) -> int:
    """How many bytes are freed when the reader goes."""
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    await events.aclose()  # type: ignore[attr-defined]  # a generator
    del events
    gc.collect()
    return before - tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
async def test_a_step_stores_less_than_its_limit_however_long_its_run_is(tmp_path: Path) -> None:
    """For `benchmarks.desk`'s step: a call of two arguments, and its result."""
    short = await stored(tmp_path, STEPS, runs=40)
    long = await stored(tmp_path, 1000, runs=1)

    assert max(short, long) < KIB
    assert long < short * 1.1
