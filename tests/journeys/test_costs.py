"""Laws of what a step costs, in figures that do not depend on the machine or its load."""

from __future__ import annotations

import cProfile
import gc
import pstats
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import desk, streaming
from benchmarks.durable import stored
from remit import App
from remit.store.protocol import Store

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


@pytest.mark.slow
@pytest.mark.parametrize("output", [None, list[streaming.Row]])
async def test_a_reader_that_has_stopped_holds_little(output: Any) -> None:
    """However long the answer is: 18,000 pieces, and where it is of a type, what can be read of
    it on the way."""
    assert 10_000 < await streaming.held(output) < STALLED_MIB * 2**20


@pytest.mark.slow
async def test_a_step_stores_less_than_its_limit_however_long_its_run_is(tmp_path: Path) -> None:
    """For `benchmarks.desk`'s step: a call of two arguments, and its result."""
    short = await stored(tmp_path, STEPS, runs=40)
    long = await stored(tmp_path, 1000, runs=1)

    assert max(short, long) < KIB
    assert long < short * 1.1
