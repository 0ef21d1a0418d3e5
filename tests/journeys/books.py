"""A table of the user's own in the database of a store, and a tool that writes to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from remit import ToolContext, tool
from remit.store.postgres import PostgresStore
from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.tools.tool import Tool
from tests.fixtures_postgres import fresh_place, shared_address

During = Callable[[ToolContext[Any]], Any]
"""What happens in a payment after it was written; it gives the tool's result, or raises."""


def paid(ctx: ToolContext[Any]) -> str:
    return "paid"


@dataclass(frozen=True)
class Books:
    """Payments in one database with the runs. `handle` gives one more store on it, not yet
    opened; `ask` carries out a statement beside the store; `where` is the file, or the server's
    address."""

    kind: str
    table: str
    handle: Callable[[], Store]
    ask: Callable[[str], list[tuple[Any, ...]]]
    where: str = ""

    def begin(self) -> None:
        """Make the table; the database is there by now."""
        self.ask(f"CREATE TABLE {self.table} (key TEXT, amount INT)")

    @property
    def keys(self) -> list[str]:
        """The idempotency key of each payment that is there."""
        return [key for (key,) in self.ask(f"SELECT key FROM {self.table} ORDER BY amount")]

    def pay(self, during: During = paid, **options: Any) -> Tool:
        """A tool that writes a payment in the transaction of its record."""
        insert = f"INSERT INTO {self.table} VALUES ({{0}}, {{0}})"
        chosen: dict[str, Any] = {"name": "pay", "transactional": True, **options}

        def pay(amount: int, ctx: ToolContext[Any]) -> Any:
            """Pays an amount out."""
            ctx.tx.execute(insert.format("?"), (ctx.idempotency_key, amount))
            return during(ctx)

        async def pay_and_wait(amount: int, ctx: ToolContext[Any]) -> Any:
            """Pays an amount out."""
            await ctx.tx.execute(insert.format("%s"), (ctx.idempotency_key, amount))
            found = during(ctx)
            return await found if hasattr(found, "__await__") else found

        return tool(**chosen)(pay if self.kind == "sqlite" else pay_and_wait)


def table_in(kind: str, schema: str) -> str:
    """The name of the table of payments."""
    return "payments" if kind == "sqlite" else f"{schema}.payments"


@contextmanager
def sqlite_books(folder: Path, clock: ManualClock) -> Iterator[Books]:
    path = folder / "runs.db"

    def ask(statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            return db.execute(statement).fetchall()

    table = table_in("sqlite", "")
    yield Books("sqlite", table, lambda: SqliteStore(path, clock), ask, str(path))


@contextmanager
def postgres_books(_: Path, clock: ManualClock) -> Iterator[Books]:
    with fresh_place(shared_address()) as place:

        def ask(statement: str) -> list[tuple[Any, ...]]:
            with psycopg.connect(place.address, autocommit=True) as db:
                found = db.execute(statement)
                return found.fetchall() if found.description else []

        table = table_in("postgres", place.schema)
        yield Books(
            "postgres",
            table,
            lambda: PostgresStore(place.address, clock, schema=place.schema),
            ask,
            place.address,
        )
