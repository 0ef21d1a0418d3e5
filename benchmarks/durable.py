"""What a run costs when every step is kept in SQLite, with `synchronous=FULL`."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from benchmarks import desk, floor
from benchmarks.measure import compare
from remit import App
from remit.store.sqlite import SqliteStore

Report = Callable[[str, str, str], None]
STEPS = 10
RUNS = 100


async def run(report: Report, folder: Path) -> None:
    """Report one run at a time, many at once, and the bytes that a step leaves."""
    await _one_at_a_time(report, folder)
    await _many(report, folder)
    await _bytes(report, folder)


def _fresh(folder: Path) -> Path:
    return folder / f"{uuid.uuid4().hex}.db"


async def _one_at_a_time(report: Report, folder: Path) -> None:
    async with (
        App(agents=[desk.agent(STEPS - 1)], store=f"sqlite:///{_fresh(folder)}") as app,
        floor.grouped(_fresh(folder)) as save,
    ):
        model = floor.scripted(STEPS - 1)
        for cpu in (True, False):
            found = await compare(
                lambda: app.run("bench", "go"), lambda: floor.durable(model, save), cpu=cpu
            )
            report(
                f"a durable step, one run at a time, {'processor' if cpu else 'wall'} time",
                f"{found.subject / STEPS / 1000:.2f} ms, {found.ratio:.2f} × the floor"
                f" ({found.spread[0]:.2f} to {found.spread[1]:.2f})",
                "under 1.5 ×",
            )


async def _many(report: Report, folder: Path) -> None:
    ratios, rates, commits = [], [], 0.0
    for _ in range(5):
        ours, commits = await _our_rate(folder)
        theirs = await _floor_rate(folder)
        rates.append((ours, theirs))
        ratios.append(ours / theirs)
    middle = sorted(ratios)[len(ratios) // 2]
    ours, theirs = rates[ratios.index(middle)]
    report(
        f"durable steps a second, {RUNS} runs at once",
        f"{ours:.0f}, {middle:.0%} of the floor's {theirs:.0f}; {commits:.2f} commits a step",
        "at least 50 %",
    )


async def _our_rate(folder: Path) -> tuple[float, float]:
    store = SqliteStore(_fresh(folder))
    await store.open()
    async with App(agents=[desk.agent(STEPS - 1)], store=store) as app:
        await app.run("bench", "go")
        before = _commits(store)
        began = time.perf_counter()
        runs = await asyncio.gather(*(app.start("bench", "go") for _ in range(RUNS)))
        await asyncio.gather(*(app.wait(run) for run in runs))
        took = time.perf_counter() - began
        commits = _commits(store) - before
    await store.close()
    return RUNS * STEPS / took, commits / (RUNS * STEPS)


async def _floor_rate(folder: Path) -> float:
    model = floor.scripted(STEPS - 1)
    async with floor.grouped(_fresh(folder)) as save:
        await floor.durable(model, save)
        began = time.perf_counter()
        await asyncio.gather(*(floor.durable(model, save) for _ in range(RUNS)))
        return RUNS * STEPS / (time.perf_counter() - began)


async def _bytes(report: Report, folder: Path) -> None:
    sizes = {steps: await stored(folder, steps, runs=1000 // steps) for steps in (10, 100, 1000)}
    told = ", ".join(f"{size:.3f} of {steps}" for steps, size in sizes.items())
    report("KiB stored a step, in runs of so many", told, "under 0.6, flat")


async def stored(folder: Path, steps: int, *, runs: int) -> float:
    """How many KiB each step adds to the file, in `runs` runs of so many steps."""
    path = _fresh(folder)
    async with App(agents=[desk.agent(steps - 1)], store=f"sqlite:///{path}") as app:
        empty = _size(path)
        for _ in range(runs):
            await app.run("bench", "go")
    return (_size(path) - empty) / runs / steps / 1024


def _size(path: Path) -> int:
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ((pages,),) = db.execute("PRAGMA page_count").fetchall()
    ((size,),) = db.execute("PRAGMA page_size").fetchall()
    db.close()
    return int(pages) * int(size)


def _commits(store: SqliteStore) -> int:
    """How many transactions the store has committed."""
    assert store._connections is not None
    return store._connections._writing.commits
