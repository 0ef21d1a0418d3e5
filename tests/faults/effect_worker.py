"""A process that pays twice in the database of its store, and kills itself at a transaction.

Usage: python -m tests.faults.effect_worker KIND WHERE SCHEMA AT WHEN. It dies before, inside or
after its AT-th transaction; with AT 0 it lives on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from remit import App
from remit.models.request import ModelRequest
from remit.store.postgres import PostgresStore
from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.testing.model import Call, Say
from remit.values.clock import SystemClock
from remit.values.messages import ToolMessage
from tests.faults.worker import TERMS
from tests.journeys.books import Books, table_in
from tests.journeys.clerk import clerk, cut_short


class Killing:
    """Hands every call to `store`, and dies at one of its transactions."""

    def __init__(self, store: Store, at: int, when: str) -> None:
        self.store, self.at, self.when = store, at, when
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def transact(self, item: Any, work: Any) -> Any:
        self.count += 1
        self.die("before")

        def inside(tx: Any) -> Any:
            made = work(tx)
            if hasattr(made, "__await__"):
                return self.later(made)
            self.die("inside")
            return made

        outcome = await self.store.transact(item, inside)  # type: ignore[attr-defined]
        self.die("after")
        return outcome

    async def later(self, made: Any) -> Any:
        found = await made
        self.die("inside")
        return found

    def die(self, when: str) -> None:
        if self.count == self.at and self.when == when:
            os.kill(os.getpid(), signal.SIGKILL)


def pays(request: ModelRequest) -> Any:
    """Two payments, one after the other, and an answer."""
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    return Call("pay", amount=done) if done < 2 else Say("done")


def store_at(kind: str, where: str, schema: str) -> Store:
    if kind == "sqlite":
        return SqliteStore(Path(where), SystemClock())
    return PostgresStore(where, SystemClock(), schema=schema)


async def main(kind: str, where: str, schema: str, at: int, when: str) -> None:
    store = store_at(kind, where, schema)
    await store.open()
    books = Books(kind, table_in(kind, schema), lambda: store, lambda statement: [])
    killing: Any = Killing(store, at, when)
    agent = clerk(cut_short([pays] * 9), [books.pay()])
    async with App([agent], store=killing, lease=TERMS) as app:
        found = await app.runs()
        run = await app.wait(found[0].id if found else await app.start("clerk", "x"))
    sys.stdout.write(f"{run.status} {' '.join(turn.calls[0].key for turn in run.turns[:2])}\n")
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]))
