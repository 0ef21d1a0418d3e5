"""When the SQLite store commits on the event loop: only while that is quick, and nobody waits."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.store.sqlite.pace import LEAST, QUICK, Pace
from remit.store.sqlite.writer import Writer
from remit.testing.store_contract.arrange import held, item, join, write
from tests.fixtures_store import opened

WRITER = "remit-sqlite-writer"


def quick(pace: Pace, commits: int) -> None:
    for _ in range(commits):
        pace.note(QUICK / 2, on_loop=pace.allows)


def test_nothing_is_committed_on_the_loop_before_the_disk_is_known_to_be_quick() -> None:
    pace = Pace()

    quick(pace, LEAST - 1)
    assert not pace.allows

    quick(pace, 1)
    assert pace.allows


@pytest.mark.parametrize("on_loop", [False, True])
def test_a_slow_commit_ends_it(on_loop: bool) -> None:
    pace = Pace()
    quick(pace, LEAST)

    pace.note(QUICK * 2, on_loop=on_loop)

    assert not pace.allows


def test_slow_commits_on_the_loop_make_it_rarer_within_bounds() -> None:
    pace, needed = Pace(), []
    for _ in range(6):
        commits = 0
        while not pace.allows:
            quick(pace, 1)
            commits += 1
        needed.append(commits)
        pace.note(QUICK * 2, on_loop=True)

    assert needed == [LEAST * n for n in (1, 2, 4, 8, 16, 16)]


def test_a_disk_that_has_become_quick_is_trusted_again() -> None:
    pace = Pace()
    for _ in range(30):
        pace.note(QUICK * 2, on_loop=True)

    quick(pace, 5000)
    pace.crowded()
    quick(pace, LEAST)

    assert pace.allows


def test_callers_who_come_together_end_it() -> None:
    pace = Pace()
    quick(pace, LEAST)

    pace.crowded()

    assert not pace.allows


class Threads(list[str]):
    """The threads that commits were begun on, in order; `own` is set by the writer's."""

    def __init__(self) -> None:
        super().__init__()
        self.own = threading.Event()

    def note(self) -> None:
        self.append(threading.current_thread().name)
        if self[-1] == WRITER:
            self.own.set()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    threads = Threads()
    commit = Writer._commit

    def noted(self: Writer, *given: object) -> object:
        threads.note()
        return commit(self, *given)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(Writer, "_commit", noted)
    return threads


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """A store on a disk that counts as quick."""
    monkeypatch.setattr("remit.store.sqlite.pace.QUICK", float("inf"))
    async with opened(SqliteStore(tmp_path / "runs.db")) as store:
        yield store


async def alone(store: Store, commits: int) -> None:
    for _ in range(commits):
        await store.beat("w1", 20.0, join=True)


async def test_who_writes_alone_comes_to_write_on_the_loop(store: Store, threads: Threads) -> None:
    await alone(store, LEAST + 3)

    here = threading.current_thread().name
    assert threads == [WRITER] * LEAST + [here] * 3


async def test_those_who_write_together_are_committed_together_on_the_thread(
    store: Store, threads: Threads
) -> None:
    claims = [await held(store) for _ in range(20)]
    await alone(store, LEAST + 1)
    threads.clear()

    await asyncio.gather(*(write(store, item(had)) for had in claims))

    assert threads == [WRITER]


async def test_other_tasks_have_their_turn_while_one_writes_on_the_loop(
    store: Store,
) -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    await alone(store, LEAST)
    other = asyncio.create_task(take_turns())
    await alone(store, 50)
    other.cancel()

    assert turns >= 50


async def test_a_lock_that_another_process_holds_does_not_stop_the_loop(
    store: Store, tmp_path: Path, threads: Threads
) -> None:
    await join(store, "w1")
    await alone(store, LEAST)
    threads.clear()
    threads.own.clear()
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(alone(store, 1))
        assert await asyncio.to_thread(threads.own.wait, 10)
        assert not writing.done()
        other.execute("COMMIT")
        await writing

    assert threads[0] == threading.current_thread().name


async def test_what_was_asked_for_before_the_store_was_closed_is_written(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "runs.db")
    await store.open()
    had = await held(store)
    writing = asyncio.create_task(store.append([item(had)]))
    await asyncio.sleep(0)
    await store.close()
    await writing

    async with opened(SqliteStore(tmp_path / "runs.db")) as again:
        assert len(await again.read(had.run)) == 2
