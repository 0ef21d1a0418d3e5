"""Schemas that tests migrate by scripts of their own, from this process and from others."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

from remit.store.migrations import Script, scripts
from remit.store.postgres import PostgresStore
from remit.store.postgres.address import Address
from remit.store.postgres.upkeep import PostgresUpkeep
from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.store.sqlite.health.upkeep import SqliteUpkeep
from remit.store.sqlite.moment import moment
from remit.store.upkeep import Upkeep
from remit.values.clock import Clock, SystemClock
from tests.fixtures_postgres import Place

PATIENCE = 30.0
# More than SQLite keeps in memory before it writes pages of an unfinished transaction.
ROWS = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60000)
"""
ADDED = (
    "CREATE TABLE further(n int, filling text);\n"
    f"INSERT INTO further {ROWS} SELECT n, '{'x' * 200}' FROM numbers;\n"
    "ALTER TABLE runs ADD COLUMN further text;\n",
    "CREATE INDEX runs_further ON runs(further);\n",
)


@dataclass(frozen=True)
class File:
    """A SQLite file."""

    path: Path
    clock: Clock = field(default_factory=SystemClock)

    @property
    def scripts(self) -> Sequence[Script]:
        return scripts("remit.store.sqlite")

    def store(self, *, migrate: bool = True) -> Store:
        return SqliteStore(self.path, self.clock, migrate=migrate)

    def upkeep(self, given: Sequence[Script] | None = None) -> Upkeep:
        return SqliteUpkeep(str(self.path), lambda: moment(self.clock), PATIENCE, given)

    def execute(self, statement: str) -> None:
        """Spoil it without the store."""
        with closing(sqlite3.connect(self.path)) as db:
            db.execute(statement)
            db.commit()

    def content(self) -> object:
        """All that is stored."""
        return self.path.read_bytes()

    def shape(self) -> list[tuple[Any, ...]]:
        """All that a migration makes or notes."""
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(self.path)) as db:
            marks = [db.execute(f"PRAGMA {name}").fetchone() for name in ("user_version",)]
            return marks + sorted(db.execute("SELECT type, name, sql FROM sqlite_schema"))


@dataclass(frozen=True)
class Schema:
    """A schema of a PostgreSQL database."""

    place: Place
    clock: Clock = field(default_factory=SystemClock)

    @property
    def scripts(self) -> Sequence[Script]:
        return scripts("remit.store.postgres")

    def store(self, *, migrate: bool = True) -> Store:
        return PostgresStore(
            self.place.address, self.clock, schema=self.place.schema, migrate=migrate
        )

    def upkeep(self, given: Sequence[Script] | None = None) -> Upkeep:
        address = Address.parse(self.place.address, self.place.schema)
        return PostgresUpkeep(address, self.clock, PATIENCE, given)

    def execute(self, statement: str) -> None:
        """Spoil it without the store."""
        self.place.execute(f"CREATE SCHEMA IF NOT EXISTS {self.place.schema}")
        self.place.execute(statement)

    def content(self) -> object:
        """As much of what is stored as a migration may touch."""
        return self.shape()

    def shape(self) -> list[tuple[Any, ...]]:
        """All that a migration makes or notes."""
        schema = self.place.schema
        columns = self.place.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = %s ORDER BY table_name, column_name",
            schema,
        )
        indexes = self.place.execute(
            "SELECT indexname, replace(indexdef, schemaname || '.', '') FROM pg_indexes"
            " WHERE schemaname = %s ORDER BY 1",
            schema,
        )
        noted = columns and self.place.execute("SELECT number, at FROM migrations ORDER BY number")
        return [*columns, *indexes, *noted]


Where = File | Schema


def older(where: Where) -> Sequence[Script]:
    """The scripts that there are."""
    return where.scripts


def newer(where: Where) -> Sequence[Script]:
    """The same, and two that nobody has yet."""
    last = where.scripts[-1].number
    added = [Script(last + number, text) for number, text in enumerate(ADDED, 1)]
    return [*where.scripts, *added]


class Halting(list[Script]):
    """Scripts of which the last never comes: whoever carries them out stays in the middle."""

    def halt(self, half: Event) -> None:
        self._half = half

    def __iter__(self) -> Iterator[Script]:
        yield from self[:-1]
        self._half.set()
        signal.pause()


def migrate_together(
    places: list[Where], given: list[Script], gate: Barrier, results: Queue[str]
) -> None:
    """Migrate each place at the same moment as the others."""
    for where in places:
        gate.wait(30)
        try:
            asyncio.run(where.upkeep(given).migrate())
            results.put("fine")
        except BaseException:
            results.put(traceback.format_exc())


def migrate_by_half(where: Where, half: Event) -> None:
    """Carry out all but the last of the newer scripts, and stay so."""
    given = Halting(newer(where))
    given.halt(half)
    asyncio.run(where.upkeep(given).migrate())
