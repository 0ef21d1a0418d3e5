"""Laws of a database that an older remit made: what is in it goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from remit.store.records import Appended, Base, Delivered, Query
from remit.store.sqlite import SqliteStore
from remit.store.sqlite.schema import OURS
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    PROGRAM,
    bodies,
    claim,
    item,
    queued,
    row,
    status,
    write,
)
from tests.fixtures_store import opened

# Four runs of a thread, the newest of which is live and paused, and two others.
RUNS = f"""
INSERT INTO runs(no, id, program, thread, base_run, status, seq, token, needs, due, format,
  created, ended) VALUES
(1, 'first', '{PROGRAM}', x'74', NULL, 'succeeded', 2, 1, 0, NULL, 1, 1, 2),
(2, 'second', '{PROGRAM}', x'74', 'first', 'failed', 3, 1, 0, NULL, 1, 3, 4),
(3, 'live', '{PROGRAM}', x'74', 'second', 'paused', 2, 1, 1, NULL, 1, 5, NULL),
(4, 'waiting', '{PROGRAM}', NULL, NULL, 'queued', 1, 0, 0, 6, 1, 6, NULL);
INSERT INTO runs(no, id, program, status, seq, token, worker, format, created) VALUES
(5, 'driven', '{PROGRAM}', 'running', 1, 1, 'w', 1, 7);
INSERT INTO threads(key, live, head_run) VALUES (x'74', 'live', 'second');
INSERT INTO workers(id, boot, beat, alive_until) VALUES ('w', 'another', 1, 2);
INSERT INTO signals(run, key) VALUES (3, x'6b');
INSERT INTO entries(run, seq, token, format, body) VALUES
(1, 1, 0, 1, x'6131'), (1, 2, 1, 1, x'6132'), (2, 1, 0, 1, x'6231'),
(2, 2, 1, 1, x'6232'), (2, 3, 1, 1, x'6233'), (3, 1, 0, 1, x'6331'),
(3, 2, 1, 1, x'6332'), (4, 1, 0, 1, x'6431'), (5, 1, 0, 1, x'6531');
"""


def old_schema() -> str:
    return resources.files("remit.store.sqlite").joinpath("0001.sql").read_text()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of schema 1 that holds runs."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(old_schema())
        db.executescript(RUNS)
        db.execute(f"PRAGMA application_id = {OURS}")
        db.execute("PRAGMA user_version = 1")
    return path


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock)
    async with opened(store):
        yield store


async def test_an_old_database_keeps_its_runs(path: Path, store: SqliteStore) -> None:
    runs = {found.id: found for found in await store.find(Query())}

    assert [found.status for found in runs.values()] == [
        "running",
        "queued",
        "paused",
        "failed",
        "succeeded",
    ]
    assert runs["live"].base == Base("second", 3)
    assert runs["second"].base == Base("first", 2)
    assert runs["first"].base is None
    assert runs["waiting"].due == 6
    assert await bodies(store, "second") == [b"b1", b"b2", b"b3"]
    journals = await store.lineage("live")
    assert [[entry.body for entry in one] for one in journals] == [
        [b"a1", b"a2"],
        [b"b1", b"b2", b"b3"],
    ]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_the_runs_of_an_old_database_go_on(store: SqliteStore) -> None:
    after = await queued(store, thread="t", enqueue=1)
    assert await store.sweep() == ["driven"]
    await claim(store, "driven")
    await claim(store, "waiting")
    assert await store.deliver("live", {"k": b"yes"}, "d") == Delivered(0)

    had = await claim(store, "live")
    assert await write(store, item(had, status="succeeded", seen=1)) == Appended(3, 1)

    assert (await row(store, after)).base == Base("live", 3)
    await claim(store, after)


async def test_an_old_database_of_a_dead_thread_can_be_emptied(store: SqliteStore) -> None:
    await store.cancel("live", b"end", 1, b"stop")
    await store.cancel("waiting", b"end", 1, b"stop")

    found = await store.get("live")
    assert found is not None
    assert found.ended is not None
    assert await store.delete_before(found.ended + 1) == 4
    assert await store.thread_head("t") is None
    assert await status(store, "driven") == "running"
