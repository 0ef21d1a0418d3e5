"""Laws of an effect that shares its record's transaction, in SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from remit.store.records import Appended, Fenced, News
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import LASTS, bodies, claim, held, item, row, write
from remit.values.errors import StoreError
from tests.fixtures_store import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock)
    async with opened(store):
        yield store


@pytest.fixture
def theirs(path: Path, store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """The user's own table in the same file, without the store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE refunds(name TEXT PRIMARY KEY)")
        yield db


def refund(db: sqlite3.Connection) -> list[bytes]:
    db.execute("INSERT INTO refunds VALUES ('r')")
    return [b"refunded"]


def refunds(db: sqlite3.Connection) -> int:
    (count,) = db.execute("SELECT count(*) FROM refunds").fetchone()
    return int(count)


async def test_an_effect_and_its_record_are_one_commit(
    store: SqliteStore, theirs: sqlite3.Connection
) -> None:
    had = await held(store)

    outcome = await store.transact(item(had, b"before"), refund)

    assert outcome == Appended(3, 0)
    assert await bodies(store, had.run) == [b"asked", b"before", b"refunded"]
    assert refunds(theirs) == 1


@pytest.mark.parametrize("error", [KeyError("no"), KeyboardInterrupt(), sqlite3.OperationalError()])
async def test_what_an_effect_raises_is_raised_and_nothing_of_it_stays(
    store: SqliteStore, theirs: sqlite3.Connection, error: BaseException
) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        refund(db)
        raise error

    with pytest.raises(type(error)) as raised:
        await store.transact(item(had), work)

    assert raised.value is error
    assert refunds(theirs) == 0
    assert await bodies(store, had.run) == [b"asked"]
    assert await store.transact(item(had), refund) == Appended(3, 0)


async def test_a_lost_lease_has_no_effect(
    store: SqliteStore, theirs: sqlite3.Connection, clock: ManualClock
) -> None:
    had = await held(store, worker="w1")
    clock.advance(LASTS)
    await store.sweep()
    await claim(store, had.run, "w2")

    assert await store.transact(item(had), refund) == Fenced()
    assert refunds(theirs) == 0


async def test_an_end_that_has_not_seen_the_news_has_no_effect(
    store: SqliteStore, theirs: sqlite3.Connection
) -> None:
    had = await held(store)
    await store.cancel(had.run, b"end", 1, b"stop")

    assert await store.transact(item(had, status="succeeded"), refund) == News(1)
    assert refunds(theirs) == 0


async def test_an_effect_is_tried_once_and_harms_no_neighbour(
    store: SqliteStore, theirs: sqlite3.Connection
) -> None:
    claims = [await held(store) for _ in range(6)]
    begun, go_on = threading.Event(), threading.Event()
    seen = []

    def first(_: sqlite3.Connection) -> list[bytes]:
        begun.set()
        go_on.wait(10)
        return [b"done"]

    def second(db: sqlite3.Connection) -> list[bytes]:
        seen.append(threading.current_thread())
        refund(db)
        raise KeyError("no")

    # What comes while the thread is busy waits together.
    going = [asyncio.ensure_future(store.transact(item(claims[0]), first))]
    await asyncio.to_thread(begun.wait, 10)
    going += [asyncio.ensure_future(write(store, item(had))) for had in claims[1:3]]
    failing = asyncio.ensure_future(store.transact(item(claims[3]), second))
    going += [asyncio.ensure_future(write(store, item(had))) for had in claims[4:]]
    for _ in range(5):
        await asyncio.sleep(0)
    go_on.set()

    assert await asyncio.gather(*going) == [Appended(3, 0), *[Appended(2, 0)] * 4]
    with pytest.raises(KeyError):
        await failing
    assert len(seen) == 1
    assert seen[0] is not threading.current_thread()
    assert refunds(theirs) == 0


def with_block(db: sqlite3.Connection) -> None:
    with db:
        pass


def swallowed(db: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        db.commit()


def closes(db: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error), closing(db):
        pass


BREACHES: dict[str, Callable[[sqlite3.Connection], object]] = {
    "commit": lambda db: db.commit(),
    "rollback": lambda db: db.rollback(),
    "with": with_block,
    "script": lambda db: db.executescript("INSERT INTO refunds VALUES ('s');"),
    "statement": lambda db: db.execute("COMMIT"),
    "swallowed": swallowed,
    "close": lambda db: db.close(),
    "closing": closes,
    "guard": lambda db: db.set_authorizer(None),
}


@pytest.mark.parametrize("breach", BREACHES.values(), ids=BREACHES.keys())
async def test_an_effect_cannot_commit_by_itself(
    store: SqliteStore, theirs: sqlite3.Connection, breach: Callable[[sqlite3.Connection], object]
) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        refund(db)
        breach(db)
        return [b"refunded"]

    with pytest.raises(StoreError, match="leave out commit"):
        await store.transact(item(had), work)

    assert refunds(theirs) == 0
    assert await bodies(store, had.run) == [b"asked"]
    assert await store.transact(item(had), refund) == Appended(3, 0)


@pytest.mark.parametrize("setting", ["query_only = ON", "foreign_keys(0)", "Max_Page_Count=1"])
async def test_an_effect_cannot_change_the_connection_for_those_after_it(
    store: SqliteStore, theirs: sqlite3.Connection, setting: str
) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        assert db.execute("PRAGMA table_info(refunds)").fetchall()
        db.execute(f"PRAGMA {setting}")
        return [b"never"]

    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        await store.transact(item(had), work)

    assert await store.transact(item(had), refund) == Appended(3, 0)


async def test_a_transaction_that_sqlite_rolled_back_is_noticed(
    store: SqliteStore, theirs: sqlite3.Connection
) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        refund(db)
        with suppress(sqlite3.IntegrityError):
            db.execute("INSERT OR ROLLBACK INTO refunds VALUES ('r')")
        return [b"refunded"]

    with pytest.raises(StoreError, match="let the work end with the error"):
        await store.transact(item(had), work)

    assert refunds(theirs) == 0
    assert await bodies(store, had.run) == [b"asked"]


async def test_an_effect_may_use_savepoints(store: SqliteStore, theirs: sqlite3.Connection) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        made = refund(db)
        db.execute("SAVEPOINT second")
        db.execute("INSERT INTO refunds VALUES ('s')")
        db.execute("ROLLBACK TO second")
        return made

    assert await store.transact(item(had), work) == Appended(3, 0)
    assert refunds(theirs) == 1


async def test_an_effect_that_moves_its_own_run_has_none(
    store: SqliteStore, theirs: sqlite3.Connection
) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        db.execute("UPDATE runs SET token = token + 1")
        return refund(db)

    with pytest.raises(StoreError, match="leave the store's own tables alone"):
        await store.transact(item(had), work)

    assert refunds(theirs) == 0
    assert (await row(store, had.run)).token == had.token


async def test_an_effect_s_way_to_read_rows_stays_its_own(store: SqliteStore) -> None:
    had = await held(store)

    def work(db: sqlite3.Connection) -> list[bytes]:
        db.row_factory, db.text_factory = sqlite3.Row, bytes
        return [b"done"]

    await store.transact(item(had), work)

    assert await write(store, item(had, seq=3)) == Appended(4, 0)
    assert (await held(store)).program == had.program


async def test_an_effect_wakes_who_waits(store: SqliteStore) -> None:
    had = await held(store)
    wakeups = store.wakeups()
    await asyncio.wait_for(anext(wakeups), 5)

    await store.transact(item(had), lambda _: [b"done"])

    await asyncio.wait_for(anext(wakeups), 5)
