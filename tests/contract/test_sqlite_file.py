"""Laws of what the SQLite store writes to its file: how much, and how it is found again."""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.store.sqlite.statements import SQL
from tests.contract.arrange import held, item, write
from tests.fixtures_store import opened

PARTS = {name: text for name, text in SQL.items() if name.startswith(("find_", "usage_"))}
WHOLE = {name: text for name, text in SQL.items() if not name.startswith(("find", "usage"))}
FOUND_BY = ["find_user", "find_tenant", "find_thread"]


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """An empty database with the schema."""
    package = resources.files("remit.store.sqlite")
    with closing(sqlite3.connect(":memory:")) as db:
        for name in ("0001.sql", "0002.sql"):
            db.executescript(package.joinpath(name).read_text())
        yield db


class Nothing(dict[str, None]):
    """Parameters that are all NULL."""

    def __missing__(self, key: str) -> None:
        return None


def plan(db: sqlite3.Connection, statement: str) -> list[str]:
    rows = db.execute(f"EXPLAIN QUERY PLAN {statement}", Nothing()).fetchall()
    return [row[3] for row in rows]


@pytest.mark.parametrize("name", WHOLE)
def test_a_statement_finds_its_rows_by_an_index(db: sqlite3.Connection, name: str) -> None:
    steps = plan(db, WHOLE[name])

    walked = [step for step in steps if step.startswith("SCAN") and "CONSTANT" not in step]
    allowed = {
        "any_lapsed": ["SCAN workers"],
        "lapsed": ["SCAN workers"],
        "refusers": ["SCAN refuser"],
        "held_on": ["SCAN holds", "SCAN named VIRTUAL TABLE INDEX 1:"],
        "lineage": ["SCAN chain"],
        "heads": ["SCAN json_each VIRTUAL TABLE INDEX 1:"],
    }
    assert set(walked) <= set(allowed.get(name, []))


def test_due_runs_are_not_sorted(db: sqlite3.Connection) -> None:
    assert plan(db, WHOLE["due_runs"]) == [
        "SEARCH runs USING INDEX runs_due (program=? AND refused_by=? AND due<?)"
    ]


@pytest.mark.parametrize("part", FOUND_BY)
def test_a_page_is_found_by_an_index_and_not_sorted(db: sqlite3.Connection, part: str) -> None:
    page = [SQL["find"], PARTS[part], PARTS["find_before"], PARTS["find_limit"]]

    first, *rest = plan(db, "\n".join(page))

    assert first.startswith(f"SEARCH runs USING INDEX runs_{part.removeprefix('find_')}")
    assert not [step for step in rest if "SCAN" in step or "B-TREE" in step]


def test_all_parts_of_find_go_together(db: sqlite3.Connection) -> None:
    last = PARTS["find_limit"]
    others = [PARTS[name] for name in PARTS if name.startswith("find_") and name != "find_limit"]

    assert plan(db, "\n".join([SQL["find"], *others, last]))


async def test_what_a_step_adds_does_not_grow(tmp_path: Path) -> None:
    sizes = []
    for entries in (0, 500, 1000):
        path = tmp_path / f"{entries}.db"
        async with opened(SqliteStore(path)) as store:
            had = await held(store)
            for seq in range(1, entries + 1, 10):
                await write(store, item(had, *[b"x" * 300] * 10, seq=seq))
        sizes.append(path.stat().st_size)

    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert first < 500 * 400
    assert second < first * 1.1


async def fill(store: Store, commits: int) -> None:
    had = await held(store)
    for seq in range(1, commits + 1):
        await write(store, item(had, b"x" * 20_000, seq=seq))


async def test_the_log_stays_short(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(SqliteStore(path)) as store:
        await fill(store, 600)
        log = (tmp_path / "runs.db-wal").stat().st_size

    assert log < 8_000_000
    assert path.stat().st_size > 12_000_000


async def test_only_who_has_the_lock_copies_the_log_back(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(SqliteStore(path)) as store:
        with open(f"{path}-checkpoint", "rb") as lock:  # noqa: ASYNC230  a local file, opened once
            fcntl.flock(lock, fcntl.LOCK_EX)
            await fill(store, 600)
            kept = (tmp_path / "runs.db-wal").stat().st_size
        await fill(store, 1)
        await asyncio.sleep(0)
        copied = path.stat().st_size

    assert kept > 12_000_000
    assert copied > 12_000_000


async def test_every_connection_that_writes_waits_for_the_disk(tmp_path: Path) -> None:
    """What was recorded survives a power cut: `synchronous` is FULL (2)."""
    store = SqliteStore(tmp_path / "runs.db")
    await store.open()
    heart = store.heart()
    await store.beat("w", 20.0, join=True)
    assert heart.beat("w", 20.0)
    writer = store._connections._writing._db  # type: ignore[union-attr]  # it is open
    beats = heart._db
    assert beats is not None
    modes = [db.execute("PRAGMA synchronous").fetchone() for db in (writer, beats)]
    heart.close()
    await store.close()
    assert modes == [(2,), (2,)]
