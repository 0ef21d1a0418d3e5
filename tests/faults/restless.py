"""A process that works on whatever there is, until its input ends or it is killed.

Usage: python -m tests.faults.restless STORE WORLD. Effects go to the database WORLD, by their
idempotency keys; what is entered is noted there with the token under which it was.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from remit import Agent, App, Budget, LeaseTerms, ModelRequest, ToolContext, tool
from remit.models.protocol import Card
from remit.models.request import CallChunk, Chunk, StopChunk, TextChunk
from remit.testing.model import FREE
from remit.tools.tool import Tool
from remit.values.messages import ToolMessage

TERMS = LeaseTerms(
    lasts=timedelta(seconds=1.6),
    renew_every=timedelta(seconds=0.4),
    sweep_every=timedelta(seconds=0.3),
    grace=timedelta(seconds=0.2),
    max_deaths=50,
)
CALLS = 4


def open_world(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=20)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE IF NOT EXISTS entered(key TEXT, token INTEGER)")
    db.execute("CREATE TABLE IF NOT EXISTS effects(key TEXT PRIMARY KEY, amount INTEGER)")
    return db


class Fickle:
    """Asks for other amounts each time that it is asked."""

    name = "restless:fickle"
    card: Card = FREE

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        await asyncio.sleep(random.random() * 0.1)
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        if done % 2 == 0 and done < CALLS:
            yield CallChunk(0, "pay", f'{{"amount": {random.randrange(10**6)}}}')
            yield CallChunk(1, "refund", f'{{"amount": {random.randrange(10**6)}}}')
            yield StopChunk("calls")
        else:
            yield TextChunk("done")
            yield StopChunk("end")


def paying(world: sqlite3.Connection | None) -> list[Tool]:
    async def take(ctx: ToolContext[Any], amount: int) -> None:
        assert world is not None
        key = ctx.idempotency_key
        world.execute("INSERT INTO entered VALUES (?, ?)", (key, ctx.lease_token))
        await asyncio.sleep(random.random() * 0.2)
        world.execute("INSERT OR IGNORE INTO effects VALUES (?, ?)", (key, amount))
        await asyncio.sleep(random.random() * 0.2)

    @tool
    async def pay(amount: int, ctx: ToolContext[Any]) -> str:
        """Pays."""
        await take(ctx, amount)
        return f"took effect: {amount}"

    @tool(approval="always")
    async def refund(amount: int, ctx: ToolContext[Any]) -> str:
        """Refunds."""
        await take(ctx, amount)
        return f"took effect: {amount}"

    return [pay, refund]


def restless(world: sqlite3.Connection | None = None) -> Agent[Any, Any]:
    """The agent; without a world it is there to be asked alone."""
    budget = Budget(turns=CALLS)
    return Agent(name="restless", model=Fickle(), tools=paying(world), budget=budget)


async def main(store: str, world: str) -> None:
    async with App([restless(open_world(world))], store=store, lease=TERMS):
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
