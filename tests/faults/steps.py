"""A process that drives runs of slow steps, and notes in a database of its own what it enters.

Usage: python -m tests.faults.steps STORE WORLD STEPS SECONDS [start]
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from remit import Agent, App, Budget, LeaseTerms, Tool, ToolContext, tool
from remit.models.protocol import Card
from remit.models.request import CallChunk, Chunk, ModelRequest, StopChunk, TextChunk
from remit.values.messages import ToolMessage

TERMS = LeaseTerms(
    lasts=timedelta(seconds=0.8),
    renew_every=timedelta(seconds=0.2),
    sweep_every=timedelta(seconds=0.1),
    grace=timedelta(seconds=0.2),
)


def open_world(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=20)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE IF NOT EXISTS entered(pid INTEGER, what TEXT, key TEXT)")
    return db


class StepModel:
    """Asks for one step after another, and then answers."""

    name = "steps:model"
    card = Card()

    def __init__(self, world: sqlite3.Connection, steps: int) -> None:
        self.world, self.steps = world, steps

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.world.execute("INSERT INTO entered VALUES (?, 'model', '')", (os.getpid(),))
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        if done < self.steps:
            yield CallChunk(0, "step", "{}")
            yield StopChunk("calls")
        else:
            yield TextChunk("done")
            yield StopChunk("end")


def stepping(world: sqlite3.Connection, seconds: float) -> Tool:
    @tool
    async def step(ctx: ToolContext[Any]) -> str:
        """Takes its time."""
        row = (os.getpid(), ctx.idempotency_key)
        world.execute("INSERT INTO entered VALUES (?, 'tool', ?)", row)
        await asyncio.sleep(seconds)
        world.execute("INSERT INTO entered VALUES (?, 'end', ?)", row)
        return "ok"

    return step


def stepper(world: sqlite3.Connection, steps: int, seconds: float) -> Agent[Any, Any]:
    return Agent(
        name="stepper",
        model=StepModel(world, steps),
        tools=[stepping(world, seconds)],
        budget=Budget(turns=steps + 2),
    )


async def main(store: str, world: str, steps: int, seconds: float, start: bool) -> None:
    agent = stepper(open_world(world), steps, seconds)
    async with App(agents=[agent], store=store, lease=TERMS) as app:
        run_id = await app.start("stepper", "go") if start else (await app.runs())[0].id
        run = await app.wait(run_id)
    sys.stdout.write(f"{run.status} {run.finish}\n")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    asyncio.run(
        main(
            arguments[0],
            arguments[1],
            int(arguments[2]),
            float(arguments[3]),
            arguments[4:] == ["start"],
        )
    )
