"""A process that works on a store, and kills itself at a given write.

Usage: python -m tests.faults.worker STORE WORLD AT WHEN, with AT 0 to live on. Effects go to the
database WORLD, whose commits are this process's only traces beside the store.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

from remit import App, Caller, LeaseTerms, ToolContext, tool
from remit.store.connect import connect
from remit.store.records import Claim
from remit.testing.crash import CrashStore
from remit.values.clock import SystemClock
from tests.journeys.desk import World, desk, endless

TERMS = LeaseTerms(
    lasts=timedelta(seconds=0.6),
    renew_every=timedelta(seconds=0.15),
    sweep_every=timedelta(seconds=0.1),
    grace=timedelta(seconds=0.1),
)


class KillingStore(CrashStore):
    """Dies as processes die: at once, with nothing cleaned up.

    Claims and sweeps count only where they find something, so that the n-th write is the same
    one in every life. Dying before a claim is dying after the write before it.
    """

    async def claim(self, *args: Any, **options: Any) -> Sequence[Claim]:
        found = await self._store.claim(*args, **options)
        if found:
            self.writes += 1
            self.dead = self.writes == self._at
            self._live()
        return found

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        return await self._store.sweep(limit)

    def _live(self) -> None:
        if self.dead:
            os.kill(os.getpid(), signal.SIGKILL)


def open_world(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=20)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE IF NOT EXISTS entered(tool TEXT, key TEXT)")
    db.execute("CREATE TABLE IF NOT EXISTS effects(key TEXT PRIMARY KEY, what TEXT)")
    return db


def lasting_tools(path: str) -> list[Any]:
    db = open_world(path)

    def note(name: str, key: str) -> None:
        db.execute("INSERT INTO entered VALUES (?, ?)", (name, key))

    @tool
    async def find_order(number: str, ctx: ToolContext[Any]) -> str:
        """Finds an order by its number."""
        note("find_order", ctx.idempotency_key)
        return f"{number} is shipped"

    @tool
    async def find_customer(number: str, ctx: ToolContext[Any]) -> str:
        """Finds who ordered."""
        note("find_customer", ctx.idempotency_key)
        return f"{number} was ordered by c_9"

    @tool(approval=lambda args: args.amount > 100, needs={"payments:write"})
    async def refund(order: str, amount: int, ctx: ToolContext[Any]) -> str:
        """Refunds an order."""
        note("refund", ctx.idempotency_key)
        db.execute("INSERT OR IGNORE INTO effects VALUES (?, ?)", (ctx.idempotency_key, order))
        return f"refunded {amount}"

    return [find_order, find_customer, refund]


async def main(store: str, world: str, at: int, when: Literal["before", "after"]) -> None:
    """Start the one run unless it is there, decide what waits, and see it end."""
    inner = connect(store, SystemClock())
    killing = KillingStore(inner, at=at or None, when=when)
    agent = desk(World(), endless(), tools=lasting_tools(world))
    async with App(agents=[agent], store=killing, grant={"payments:write"}, lease=TERMS) as app:
        found = await app.runs()
        run_id = found[0].id if found else await app.start("desk", "Refund A-1", user="u_1")
        run = await app.wait(run_id)
        if run.status == "paused":
            await app.decide(run_id, approve=[run.pending[0].id], by=Caller(user="staff_1"))
            run = await app.wait(run_id)
    sys.stdout.write(f"{run.status} {run.finish} {killing.writes}\n")
    await inner.close()


if __name__ == "__main__":
    moment: Any = sys.argv[4]
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), moment))
