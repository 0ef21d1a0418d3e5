"""What long runs, many runs and waiting runs cost, in SQLite."""

from __future__ import annotations

import asyncio
import gc
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import desk
from remit import Agent, App, Budget, tool
from remit.models.request import CallChunk, Chunk, ModelRequest, StopChunk
from remit.store.sqlite import SqliteStore

Report = Callable[[str, str, str], None]
TURNS = 1000
MANY = 10_000
AT_ONCE = 100
IDLE_SECONDS = 20.0


async def run(report: Report, folder: Path) -> None:
    """Report a resumed run, the memory that many runs leave, and what waiting runs cost."""
    await _resumed(report, folder)
    await _memory(report, folder)
    await _waiting(report, folder)


class Halting(desk.Scripted):
    """Asks for its calls, and before the last answer waits for ever."""

    def __init__(self, tool_turns: int) -> None:
        super().__init__(tool_turns)
        self.halted = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Any:
        if len(request.messages) > 2 * self.tool_turns:
            self.halted.set()
            await asyncio.Event().wait()
        async for chunk in super().stream(request):
            yield chunk


async def _resumed(report: Report, folder: Path) -> None:
    """The time from opening an App to the end of a run whose last turn is left."""
    address = f"sqlite:///{folder / uuid.uuid4().hex}.db"
    whole = desk.agent(TURNS - 1)
    halting = Halting(TURNS - 1)
    async with App(agents=[whole.replace(model=halting)], store=address) as app:
        run = await app.start("bench", "go")
        await halting.halted.wait()
    began = time.perf_counter()
    async with App(agents=[whole], store=address) as app:
        done = await app.wait(run)
        took = time.perf_counter() - began
    assert len(done.turns) == TURNS
    report(f"resuming a run of {TURNS} turns", f"{took:.2f} s", "under 1 s")


async def _memory(report: Report, folder: Path) -> None:
    """What the process holds after a tenth of the runs, and after all."""
    held = []
    async with App(
        agents=[desk.agent(1)], store=f"sqlite:///{folder / uuid.uuid4().hex}.db"
    ) as app:
        for batch in range(MANY // AT_ONCE):
            await asyncio.gather(*(app.run("bench", "go") for _ in range(AT_ONCE)))
            if batch + 1 in (MANY // AT_ONCE // 10, MANY // AT_ONCE):
                gc.collect()
                held.append(_resident())
    report(
        f"memory after {MANY // 10:,} and after {MANY:,} runs",
        f"{held[0]:.1f} and {held[1]:.1f} MiB",
        "flat",
    )


@tool(approval="always")
async def pay(amount: int) -> str:
    """Pays."""
    return f"{amount} is paid"


class Paying:
    """Asks for the one call that a person must agree to."""

    name = "bench:paying"
    card = desk.Scripted.card

    async def stream(self, request: ModelRequest) -> Any:
        chunk: Chunk = CallChunk(0, "pay", '{"amount": 1}')
        yield chunk
        yield StopChunk("calls")


async def _waiting(report: Report, folder: Path) -> None:
    """Statements and processor time of a worker that nobody asks anything of."""
    agent = Agent[None, str](name="pay", model=Paying(), tools=[pay], budget=Budget(turns=2))
    path = folder / f"{uuid.uuid4().hex}.db"
    for runs in (0, MANY):
        store = SqliteStore(path)
        await store.open()
        async with App(agents=[agent], store=store) as app:
            for _ in range(runs // AT_ONCE):
                await asyncio.gather(*(app.run("pay", "go") for _ in range(AT_ONCE)))
            statements, busy = await _idle(store)
        await store.close()
        report(
            f"an idle worker beside {runs:,} paused runs",
            f"{statements:.1f} statements a second, {busy:.2%} of a core",
            "the same as beside none",
        )


async def _idle(store: SqliteStore) -> tuple[float, float]:
    count = 0

    def counted(statement: str) -> None:
        nonlocal count
        count += 1

    connections: Any = store._connections
    traced = [connections._writing._db, connections._reading, connections._watching]
    for db in traced:
        db.set_trace_callback(counted)
    used = time.process_time()
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), IDLE_SECONDS)
    used = time.process_time() - used
    for db in traced:
        db.set_trace_callback(None)
    return count / IDLE_SECONDS, used / IDLE_SECONDS


def _resident() -> float:
    """MiB of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
