"""What a run costs when every step is kept in PostgreSQL, with `fsync` on.

`REMIT_BENCH_POSTGRES` names a server; without it one is started from the test server's wheel.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg

from benchmarks import desk, floor
from benchmarks.measure import compare
from remit import App
from tests.fixtures_postgres import own_server

Report = Callable[[str, str, str], None]
STEPS = 10
RUNS = 100
ROUNDS = 5
TABLE = "CREATE TABLE IF NOT EXISTS journal(run text, seq int, body bytea, PRIMARY KEY(run, seq))"
INSERT = "INSERT INTO journal(run, seq, body) VALUES (%s, %s, %s)"
COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


@contextmanager
def server() -> Iterator[str]:
    """The address of a server that waits for its disk."""
    named = os.environ.get("REMIT_BENCH_POSTGRES")
    if named:
        yield named
        return
    with own_server(fsync="on") as started:
        yield started.address


async def run(report: Report) -> None:
    """Report one run at a time, and many at once."""
    with server() as address:
        await _one_at_a_time(report, address)
        await _many(report, address)


async def _one_at_a_time(report: Report, address: str) -> None:
    async with (
        App(agents=[desk.agent(STEPS - 1)], store=address) as app,
        grouped(address) as save,
    ):
        model = floor.scripted(STEPS - 1)
        for cpu in (True, False):
            found = await compare(
                lambda: app.run("bench", "go"), lambda: floor.durable(model, save), cpu=cpu
            )
            report(
                f"a step in PostgreSQL, one run at a time, {'processor' if cpu else 'wall'} time",
                f"{found.subject / STEPS / 1000:.2f} ms, {found.ratio:.2f} × the floor"
                f" ({found.spread[0]:.2f} to {found.spread[1]:.2f})",
                "under 1.3 ×",
            )


async def _many(report: Report, address: str) -> None:
    rates: list[tuple[float, float]] = []
    commits = 0.0
    for _ in range(ROUNDS):
        ours, commits = await _our_rate(address)
        rates.append((ours, await _floor_rate(address)))
    rates.sort(key=lambda rate: rate[0] / rate[1])
    ours, theirs = rates[len(rates) // 2]
    report(
        f"steps a second in PostgreSQL, {RUNS} runs at once",
        f"{ours:.0f}, {ours / theirs:.0%} of the floor's {theirs:.0f};"
        f" {commits:.2f} transactions a step",
        "at least 60 %",
    )


async def _our_rate(address: str) -> tuple[float, float]:
    async with App(agents=[desk.agent(STEPS - 1)], store=address) as app:
        await app.run("bench", "go")
        before = await _commits(address)
        began = time.perf_counter()
        runs = await asyncio.gather(*(app.start("bench", "go") for _ in range(RUNS)))
        await asyncio.gather(*(app.wait(run) for run in runs))
        took = time.perf_counter() - began
    # A session tells of its last transactions when it ends.
    commits = await _commits(address) - before
    return RUNS * STEPS / took, commits / (RUNS * STEPS)


async def _floor_rate(address: str) -> float:
    model = floor.scripted(STEPS - 1)
    async with grouped(address) as save:
        await floor.durable(model, save)
        began = time.perf_counter()
        await asyncio.gather(*(floor.durable(model, save) for _ in range(RUNS)))
        return RUNS * STEPS / (time.perf_counter() - began)


async def _commits(address: str) -> int:
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as db:
        await db.execute("SELECT pg_stat_clear_snapshot()")
        (commits,) = await (await db.execute(COMMITS)).fetchone() or (0,)
        return int(commits)


@asynccontextmanager
async def grouped(address: str) -> AsyncIterator[floor.Save]:
    """A journal in PostgreSQL, on one connection that commits all that waits for it together."""
    waiting: list[tuple[tuple[str, int, bytes], asyncio.Future[None]]] = []
    there = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def work(db: psycopg.AsyncConnection) -> None:
        while True:
            await there.wait()
            there.clear()
            batch = waiting.copy()
            waiting.clear()
            if len(batch) == 1:
                await db.execute(INSERT, batch[0][0], prepare=True)
            else:
                async with db.transaction(), db.cursor() as cursor:
                    await cursor.executemany(INSERT, [row for row, _ in batch])
            for _, future in batch:
                future.set_result(None)

    async def save(run: str, seq: int, body: bytes) -> None:
        future = loop.create_future()
        waiting.append(((run, seq, body), future))
        there.set()
        await future

    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as db:
        await db.execute(TABLE)
        worker = asyncio.create_task(work(db))
        yield save
        worker.cancel()
        await asyncio.wait([worker])
