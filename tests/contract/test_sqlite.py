"""Laws of the SQLite store alone: its file, its faults, and what it does not block."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remit.store.protocol import Store
from remit.store.records import Appended, Created, Query
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    a_run,
    bodies,
    claim,
    held,
    item,
    join,
    queued,
    write,
)
from remit.values.errors import ConfigError, StoreError
from tests.fixtures_store import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with opened(SqliteStore(path, clock, patience=20)) as store:
        yield store


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file without the store."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as db:
        yield db


def content(path: Path) -> bytes:
    return path.read_bytes()


def write_over(path: Path, start: int, size: int) -> None:
    """Spoil part of a file, which is made if it is not there."""
    path.touch()
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"x" * size)


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def refusal(path: Path) -> str:
    """Why the store does not open."""
    with pytest.raises(StoreError) as refused:
        await SqliteStore(path, patience=0.2).open()
    return str(refused.value)


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_store_needs_a_file(name: str) -> None:
    with pytest.raises(ConfigError, match="use memory:"):
        SqliteStore(name)


async def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    assert "does not exist: make it" in await refusal(tmp_path / "no" / "runs.db")
    assert names(tmp_path) == []


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    assert "is a folder" in await refusal(tmp_path)


@pytest.mark.parametrize("size", [5, 5000])
async def test_a_file_that_is_no_database_is_left_alone(path: Path, size: int) -> None:
    write_over(path, 0, size)

    assert "is no SQLite database" in await refusal(path)
    assert content(path) == b"x" * size


@pytest.mark.parametrize(
    "sign",
    ["CREATE TABLE theirs(x)", "PRAGMA user_version = 3", "PRAGMA application_id = 77"],
    ids=["a table", "a version", "a mark"],
)
async def test_another_program_s_database_is_left_alone(path: Path, sign: str) -> None:
    with raw(path) as db:
        db.execute(sign)
    before = content(path)

    assert "another program's database" in await refusal(path)
    assert content(path) == before
    assert names(path.parent) == [path.name]


async def test_a_newer_schema_is_left_alone(path: Path, store: Store) -> None:
    await store.close()
    with raw(path) as db:
        db.execute("PRAGMA user_version = 99")
    before = content(path)

    message = await refusal(path)

    assert "schema 99" in message
    assert "up to 2: update remit" in message
    assert content(path) == before


async def test_an_empty_file_is_a_fresh_store(path: Path) -> None:
    write_over(path, 0, 0)

    async with opened(SqliteStore(path)) as store:
        await queued(store)


async def test_a_store_whose_making_was_cut_short_is_made(path: Path) -> None:
    with raw(path) as db:
        db.execute("PRAGMA journal_mode = WAL")

    async with opened(SqliteStore(path)) as store:
        await queued(store)


async def test_a_damaged_file_is_told(path: Path, store: Store) -> None:
    run = await queued(store)
    await store.close()
    write_over(path, 4096, len(content(path)) - 4096)

    await store.open()
    with pytest.raises(StoreError, match="is damaged: restore it"):
        await store.get(run)
    with pytest.raises(StoreError, match="is damaged: restore it"):
        await store.create(a_run())


async def test_an_old_sqlite_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))

    assert "too old" in await refusal(path)


async def test_a_full_disk_harms_no_neighbour(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def small(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        db = connect(*args, **kwargs)
        db.execute("PRAGMA max_page_count = 150")
        return db

    monkeypatch.setattr(sqlite3, "connect", small)
    async with opened(SqliteStore(path)) as store:
        claims = [await held(store) for _ in range(5)]
        writes = [write(store, item(had, b"small")) for had in claims]
        large = item(claims[4], b"x" * 800_000, seq=2)

        *stored, refused = await asyncio.gather(
            *writes, write(store, large), return_exceptions=True
        )

        assert stored == [Appended(2, 0)] * 5
        assert "has no room on its disk: free some space" in str(refused)
        assert isinstance(refused, StoreError)
        assert await write(store, item(claims[4], b"after", seq=2)) == Appended(3, 0)


async def test_an_order_that_cannot_be_carried_out_harms_no_neighbour(store: Store) -> None:
    news = [a_run(), a_run("\ud800"), a_run(), a_run("\udfff"), a_run()]

    outcomes = await asyncio.gather(*map(store.create, news), return_exceptions=True)

    assert [isinstance(one, Created) for one in outcomes] == [True, False, True, False, True]
    assert len(await store.find(Query())) == 3


async def test_a_write_waits_for_another_s_lock(path: Path, store: Store) -> None:
    had = await held(store)
    with raw(path) as db:
        db.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(write(store, item(had)))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        db.execute("COMMIT")

        assert await waiting == Appended(2, 0)


async def test_a_write_takes_its_time_under_the_lock(path: Path) -> None:
    """It is never before the time of what another process wrote."""
    is_locked: list[bool] = []

    class Looking(ManualClock):
        def wall(self) -> float:
            with raw(path) as db:
                try:
                    db.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    is_locked.append(True)
                else:
                    is_locked.append(False)
            return super().wall()

    async with opened(SqliteStore(path, Looking())) as store:
        is_locked.clear()
        had = await held(store)
        await write(store, item(had, status="paused", asks=("k",)))
        # A claim looks without a lock first.
        assert is_locked.count(True) == 4
        assert is_locked.count(False) <= 1


async def test_a_lock_that_stays_is_told(path: Path, store: Store) -> None:
    async with opened(SqliteStore(path, patience=0.1)) as hasty:
        run = await queued(store)
        with raw(path) as db:
            db.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="stayed locked: end the program"):
                await hasty.cancel(run, b"end", 1, b"stop")
            assert await bodies(hasty, run) == [b"asked"]
        assert await hasty.create(a_run()) == Created()


async def test_a_file_that_stays_locked_does_not_open(path: Path) -> None:
    with raw(path) as db:
        db.execute("BEGIN EXCLUSIVE")
        assert "stayed locked" in await refusal(path)


async def test_an_idle_worker_takes_no_lock(path: Path, clock: ManualClock) -> None:
    async with opened(SqliteStore(path, clock, patience=0)) as store:
        await join(store, "w")
        await held(store)
        with raw(path) as db:
            db.execute("BEGIN IMMEDIATE")
            assert await store.claim("w", [PROGRAM], format=1, room=5) == []
            assert await store.sweep() == []


async def test_a_long_wait_does_not_block_the_loop(path: Path, store: Store) -> None:
    had = await held(store)
    with raw(path) as db:
        db.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(write(store, item(had)))
        gaps = []
        for _ in range(20):
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - before)
        db.execute("COMMIT")
        await waiting

    assert sorted(gaps)[10] < 0.05


CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "create": lambda store: store.create(a_run()),
    "claim": lambda store: store.claim("w", [PROGRAM], format=1),
    "beat": lambda store: store.beat("w", 1),
    "append": lambda store: store.append([]),
    "read": lambda store: store.read("r"),
    "sweep": lambda store: store.sweep(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_a_store_that_is_not_open_says_so(
    path: Path, store: Store, call: Callable[[Store], Awaitable[object]]
) -> None:
    await store.close()
    await store.close()

    for shut in (store, SqliteStore(path)):
        with pytest.raises(StoreError, match="is not open: open it first"):
            await call(shut)
        with pytest.raises(StoreError, match="is not open: open it first"):
            shut.wakeups()


async def test_a_close_ends_the_wakeups(store: Store) -> None:
    async def listen() -> None:
        async for _ in store.wakeups():
            pass

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0)

    await store.close()

    await asyncio.wait_for(listening, 5)


async def test_a_commit_of_one_s_own_wakes_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.store.sqlite.store._LOOK_EVERY", 1000.0)
    async with opened(SqliteStore(path)) as store:
        wakeups = store.wakeups()
        await asyncio.wait_for(anext(wakeups), 5)

        await queued(store)

        await asyncio.wait_for(anext(wakeups), 5)


@pytest.mark.parametrize(
    "change",
    ["boot = 'another'", "beat = beat + 1000000, alive_until = alive_until + 1000000"],
    ids=["told by the system", "told by the clock"],
)
async def test_a_worker_from_before_a_reboot_is_dead(path: Path, store: Store, change: str) -> None:
    had = await held(store, worker="w1")
    with raw(path) as db:
        db.execute(f"UPDATE workers SET {change}")

    waiting = await queued(store)
    assert await store.beat("w1", LASTS) is None
    assert await store.claim("w1", [PROGRAM], format=1) == []
    assert await store.claim("w1", [PROGRAM], format=1, run=waiting) == []
    assert not await store.release("w1", had.run, had.token)
    assert await store.sweep() == [had.run]
    again = await claim(store, had.run, "w2")
    assert (again.deaths, again.since_lost) == (1, None)


async def test_a_loss_from_before_a_reboot_has_no_time(
    path: Path, store: Store, clock: ManualClock
) -> None:
    had = await held(store, worker="w1")
    clock.advance(LASTS)
    await store.sweep()
    with raw(path) as db:
        db.execute("UPDATE runs SET lost_boot = 'another'")

    assert (await claim(store, had.run, "w2")).since_lost is None


async def test_a_relative_path_does_not_follow_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("here.db")
    monkeypatch.chdir("/")

    async with opened(store):
        assert (tmp_path / "here.db").exists()


def test_a_store_can_be_opened_in_one_loop_after_another(path: Path) -> None:
    store = SqliteStore(path)

    async def use() -> None:
        async with opened(store):
            await queued(store)

    for _ in range(3):
        asyncio.run(use())


async def test_opening_twice_is_opening_once(path: Path) -> None:
    store = SqliteStore(path)
    await asyncio.gather(*(store.open() for _ in range(5)))

    await queued(store)

    await store.close()
    with pytest.raises(StoreError):
        await store.find(Query())


def held_in(*files: str) -> bytes:
    """All bytes of those files that are there."""
    return b"".join(Path(file).read_bytes() for file in files if Path(file).exists())


async def test_what_is_deleted_is_gone_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where SQLite was built to leave it to be written over one day."""
    file, secret = f"{tmp_path}/runs.db", b"xyzzy" * 40
    connect = sqlite3.connect

    def careless(*args: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **options)
        db.execute("PRAGMA secure_delete = OFF")
        return db

    monkeypatch.setattr(sqlite3, "connect", careless)
    async with opened(SqliteStore(file)) as store:
        for number in range(30):
            had = await held(store, user="u_1" if number % 2 else "u_2", body=secret)
            long = secret * (1 + 100 * (number % 3))
            await write(store, item(had, long, status="succeeded"))
        assert secret in held_in(file, f"{file}-wal")
        assert await store.forget("u_1", None) == 15
        assert await store.forget("u_2", None) == 15

    assert secret[:20] not in held_in(file, f"{file}-wal")
