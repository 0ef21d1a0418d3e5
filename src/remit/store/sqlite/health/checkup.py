"""A look at a database file that writes nothing to it, and may leave an empty log beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from remit.store import sql
from remit.store.migrations import Versions
from remit.store.sqlite.faults import explained, patiently
from remit.store.sqlite.health import surroundings
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.schema import FOREIGN, NO_FOLDER, OLDEST, version_of
from remit.store.upkeep import (
    Concern,
    Dying,
    Lapsed,
    Live,
    Look,
    Overdue,
    Shut,
    SqliteHealth,
    Waiting,
    Why,
    Work,
)
from remit.values.moment import moment

SQL = sql.load("remit.store.sqlite.health", "checkup.sql")

_MICRO = 1e6
_PATIENCE = 5.0
_WHY: dict[int, Why] = {
    sqlite3.SQLITE_NOTADB: "foreign",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_CANTOPEN: "unreachable",
    sqlite3.SQLITE_PERM: "unreachable",
    sqlite3.SQLITE_READONLY: "unreachable",
}


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """A connection to a file that exists, which cannot write."""
    db = _connect(path, "mode=ro")
    try:
        try:
            patiently(lambda: db.execute("SELECT 1 FROM sqlite_schema LIMIT 1"), _PATIENCE)
        except sqlite3.OperationalError:
            # Without a place for its shared memory a log cannot be read; an empty one need not be.
            if surroundings.writable(os.path.dirname(path)) or _has_log(path):
                raise
            db.close()
            db = _connect(path, "mode=ro&immutable=1")
        yield db
    finally:
        db.close()


def look(path: str, now: Callable[[], Moment], concern: Concern, newest: int) -> Look:
    """How the file is, with its surroundings and, where it can be read, its runs."""
    folder = os.path.dirname(path)
    health = SqliteHealth(
        sqlite=sqlite3.sqlite_version_info,
        oldest=OLDEST,
        folder_writable=not os.path.isdir(folder) or surroundings.writable(folder),
        file_writable=not os.path.exists(path) or surroundings.writable(path),
        free_bytes=surroundings.free_bytes(folder),
        file_system=surroundings.file_system(folder),
        others=surroundings.others(path),
    )
    whole = Look(place=path, health=health)
    if not os.path.isdir(folder):
        return replace(whole, shut=Shut("missing", NO_FOLDER.format(folder=folder)))
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        reason = f"{path} is no store yet: check the address, or make it with `remit migrate`."
        return replace(whole, shut=Shut("missing", reason))
    try:
        with reading(path) as db:
            return patiently(lambda: _inside(db, whole, now(), concern, newest), _PATIENCE)
    except sqlite3.Error as error:
        why = _WHY.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "unreadable")
        return replace(whole, shut=Shut(why, _reason(error, path)))


def _inside(
    db: sqlite3.Connection, whole: Look, now: Moment, concern: Concern, newest: int
) -> Look:
    version = version_of(db)
    if version is None:
        return replace(whole, shut=Shut("foreign", FOREIGN.format(path=whole.place)))
    assert isinstance(whole.health, SqliteHealth)
    (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    faults = [told for (told,) in db.execute(SQL["quick_check"]) if told != "ok"]
    health = replace(whole.health, journal_mode=mode if version else None, faults=faults)
    known = 0 < version <= newest and not faults
    return replace(
        whole,
        versions=Versions(at=version, newest=newest),
        health=health,
        work=_work(db, now, concern) if known else None,
    )


def _work(db: sqlite3.Connection, now: Moment, concern: Concern) -> Work:
    def rows(name: str, **values: float) -> list[tuple[Any, ...]]:
        return db.execute(SQL[name], {**now.marks(), **values}).fetchall()

    overdue = now.wall - round(concern.overdue * _MICRO)
    paused = now.wall - round(concern.paused * _MICRO)
    return Work(
        alive=rows("alive")[0][0],
        lapsed=[
            Lapsed(worker=id, ago=None if ago is None else ago / _MICRO, runs=runs)
            for id, ago, runs in rows("lapsed")
        ],
        dying=[Dying(run=id, program=of, deaths=deaths) for id, of, deaths in rows("dying")],
        overdue=[
            Overdue(program=of, runs=runs, ago=ago / _MICRO)
            for of, runs, ago in rows("overdue", before=overdue)
        ],
        live=[Live(program=of, runs=runs) for of, runs in rows("live")],
        waiting=[
            Waiting(run=id, program=of, created=moment(created), newest=body)
            for id, of, created, body in rows("waiting", before=paused)
        ],
    )


def _connect(path: str, options: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path))}?{options}"
    return sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)


def _has_log(path: str) -> bool:
    log = f"{path}-wal"
    return os.path.exists(log) and os.path.getsize(log) > 0


def _reason(error: sqlite3.Error, path: str) -> str:
    return getattr(explained(error, path), "reason", str(error))
