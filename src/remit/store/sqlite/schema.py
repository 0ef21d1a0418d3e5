"""Opens a database file: looks at what it is, and brings its schema up to date."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from importlib import resources

from remit.store.sqlite.faults import patiently
from remit.values.errors import StoreError

OURS = 0x726D6974
"""What marks a database as remit's: `rmit` in the file's header."""

_OLDEST = (3, 37, 0)


def open_writer(path: str, patience: float) -> sqlite3.Connection:
    """The connection that writes, to a database whose schema is this code's.

    Raises StoreError, and changes nothing, where `path` holds something else or something newer.
    """
    _refuse_what_cannot_work(path)
    db = _connect(path)
    try:
        patiently(lambda: _refuse_what_is_not_ours(db, path), patience)
        patiently(lambda: _use_the_log(db, path), patience)
        patiently(lambda: _migrate(db, path), patience)
    except BaseException:
        db.close()
        raise
    return db


def open_reader(path: str) -> sqlite3.Connection:
    """A connection that cannot write."""
    db = _connect(path)
    db.execute("PRAGMA query_only = ON")
    return db


def _connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)


def _refuse_what_cannot_work(path: str) -> None:
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(
            reason=f"SQLite {sqlite3.sqlite_version} is too old: use a Python built with"
            f" {'.'.join(map(str, _OLDEST))} or newer."
        )
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreError(reason=f"the folder {folder} does not exist: make it, or give another.")
    if os.path.isdir(path):
        raise StoreError(reason=f"{path} is a folder: give the path of a file in it.")


def _refuse_what_is_not_ours(db: sqlite3.Connection, path: str) -> None:
    mark, version, tables = _looked_at(db)
    if mark == OURS:
        _refuse_newer(version, path)
    elif mark or version or tables:
        raise StoreError(reason=f"{path} is another program's database: give another path.")


def _looked_at(db: sqlite3.Connection) -> tuple[int, int, int]:
    """The file's mark, version and number of tables, all of one moment: another process may be
    making the same store."""
    db.execute("BEGIN")
    try:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return _ask(db, "application_id"), _ask(db, "user_version"), tables
    finally:
        db.execute("ROLLBACK")


def _refuse_newer(version: int, path: str) -> None:
    if version > _newest():
        raise StoreError(
            reason=f"{path} has schema {version}, written by a newer remit, and this one knows"
            f" schemas up to {_newest()}: update remit."
        )


def _use_the_log(db: sqlite3.Connection, path: str) -> None:
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(reason=f"{path} cannot have a write-ahead log: put it on a local disk.")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 0")


def _migrate(db: sqlite3.Connection, path: str) -> None:
    if _ask(db, "user_version") == _newest():
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it since.
        version = _ask(db, "user_version")
        _refuse_newer(version, path)
        for number, script in _migrations():
            if number > version:
                for statement in _statements(script):
                    db.execute(statement)
        db.execute(f"PRAGMA application_id = {OURS}")
        db.execute(f"PRAGMA user_version = {_newest()}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _migrations() -> list[tuple[int, str]]:
    """The numbered scripts, in order."""
    files = resources.files(__package__).iterdir()
    scripts = [file for file in files if file.name[:4].isdigit() and file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.read_text("utf-8")) for file in scripts)


def _newest() -> int:
    return _migrations()[-1][0]


def _statements(script: str) -> Iterator[str]:
    """The script's statements one by one: executed as a whole it would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _ask(db: sqlite3.Connection, pragma: str) -> int:
    value: int = db.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value
