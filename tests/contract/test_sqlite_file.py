"""Laws of what the SQLite store writes to its file: how much, and how it is found again."""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import resources
from itertools import count
from pathlib import Path

import pytest

from remit.store.protocol import Store
from remit.store.records import Appended
from remit.store.sqlite import SqliteStore, journal, leases
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, many
from remit.testing.store_contract.arrange import PROGRAM, a_run, held, item, write
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
        "append_each": ["SCAN new"],
        "any_lapsed": ["SCAN workers"],
        "lapsed": ["SCAN workers"],
        "refusers": ["SCAN refuser"],
        "held_on": ["SCAN holds", "SCAN named VIRTUAL TABLE INDEX 1:"],
        "lineage": ["SCAN chain"],
        "heads": ["SCAN json_each VIRTUAL TABLE INDEX 1:"],
    }
    assert set(walked) <= set(allowed.get(name, []))


@pytest.mark.parametrize("rows", [2, 64])
def test_many_runs_are_each_found_by_the_index(db: sqlite3.Connection, rows: int) -> None:
    steps = db.execute(
        f"EXPLAIN QUERY PLAN {many('append_each', rows)}", [None] * 5 * rows
    ).fetchall()

    walked = [step[3] for step in steps if step[3].startswith("SCAN")]
    assert walked == [f"SCAN {rows} CONSTANT ROWS", "SCAN new"]


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


@pytest.mark.parametrize("part", ["usage_user", "usage_tenant", "usage_since"])
def test_the_ledger_is_added_up_along_an_index(db: sqlite3.Connection, part: str) -> None:
    index = {"usage_user": "user", "usage_tenant": "tenant", "usage_since": "at"}[part]

    first, *_ = plan(db, "\n".join([SQL["usage"], PARTS[part], PARTS["usage_groups"]]))

    assert first.startswith(f"SEARCH ledger USING INDEX ledger_{index}")


def test_a_meter_that_begins_looks_at_its_own_time_alone(db: sqlite3.Connection) -> None:
    parts = [PARTS["usage_user"], PARTS["usage_since"], PARTS["usage_until"]]

    first, *_ = plan(db, "\n".join([SQL["usage_slots"], *parts, PARTS["usage_by_slot"]]))

    assert first == "SEARCH ledger USING INDEX ledger_user (usr=? AND at>? AND at<?)"


def test_all_parts_of_usage_go_together(db: sqlite3.Connection) -> None:
    parts = [PARTS[f"usage_{name}"] for name in ("user", "tenant", "run", "name", "since", "until")]

    assert plan(db, "\n".join([SQL["usage"], *parts, PARTS["usage_groups"]]))


def effort(db: sqlite3.Connection, work: Callable[[], object]) -> int:
    """How many steps SQLite takes for `work`."""
    steps = count()
    # The handler is to go on: it must give nothing, or zero.
    db.set_progress_handler(lambda: next(steps) < 0, 1)
    work()
    db.set_progress_handler(None, 1)
    return next(steps)


def fill_queue(db: sqlite3.Connection, numbers: range) -> None:
    """Runs that sleep, and as many that this deployment refused."""
    statement = "INSERT INTO runs(id, program, status, due, refused_by, format, created)"
    rows = [(f"{due} {n}", due, by) for n in numbers for due, by in ((99, None), (1, "us"))]
    db.executemany(f"{statement} VALUES (?, 'p', 'paused', ?, ?, 1, 0)", rows)


def test_sleepers_and_refused_runs_do_not_slow_a_claim(db: sqlite3.Connection) -> None:
    now = Moment(50, 50, "boot")
    leases.beat(db, now, "w", 1.0, True)
    wish = leases.Wish("w", ["p"], format=1, room=5, run=None, deploy="us")
    columns = "id, program, status, due, refused_by, format, created"
    due = "('a', 'p', 'queued', 2, NULL, 1, 0), ('b', 'p', 'queued', 1, 'other', 1, 0)"
    db.execute(f"INSERT INTO runs({columns}) VALUES {due}")

    fill_queue(db, range(1000))
    first = effort(db, lambda: leases.due_for(db, now, wish))
    fill_queue(db, range(1000, 2000))
    second = effort(db, lambda: leases.due_for(db, now, wish))

    assert leases.due_for(db, now, wish) == [2, 1]
    assert second < first * 1.1 < 1000


def test_the_next_due_time_is_found_without_a_walk(db: sqlite3.Connection) -> None:
    fill_queue(db, range(2000))

    assert effort(db, lambda: leases.next_due(db, Moment(50, 50, "boot"), ["p"])) < 1000


def test_an_append_without_money_is_two_statements(db: sqlite3.Connection) -> None:
    now, said = Moment(50, 50, "boot"), list[str]()
    leases.beat(db, now, "w", 1.0, True)
    journal.create(db, now, a_run("r"))
    (had,) = leases.claim(db, now, leases.Wish("w", [PROGRAM], 1, 1, "r", ""))

    db.set_trace_callback(said.append)
    assert journal.append(db, now, [item(had)]) == [Appended(2, 0)]

    assert [one.split()[:2] for one in said if not one.startswith("BEGIN")] == [
        ["UPDATE", "runs"],
        ["INSERT", "INTO"],
    ]


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
