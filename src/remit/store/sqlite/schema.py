"""Opens a database file: looks at what it is, and brings its schema up to date."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TypeVar

from remit.store.migrations import Script, Versions, scripts
from remit.store.sqlite.faults import patiently
from remit.store.sqlite.lent import Lent
from remit.values.errors import StoreError

OURS = 0x726D6974
"""What marks a database as remit's: `rmit` in the file's header."""

C = TypeVar("C", bound=sqlite3.Connection)
OLDEST = (3, 37, 0)
"""The oldest SQLite that knows what the schema is made of."""

NO_FOLDER = "the folder {folder} does not exist: make it, or give another."
FOREIGN = "{path} is another program's database: give another path."
"""Why a file that holds something else is refused."""


def open_writer(path: str, patience: float, *, migrating: bool = True) -> Lent:
    """The connection that writes, to a database whose schema is this code's.

    Raises StoreError, and changes nothing, where `path` holds something else or something newer,
    and without `migrating` where it holds something older or nothing.
    """
    db, _ = _opened(path, patience, scripts(__package__) if migrating else None)
    return db


def migrate(path: str, patience: float, given: Sequence[Script]) -> Versions:
    """Bring the database at `path` to the last script of those `given`; where it was before.

    Raises StoreError, and changes nothing, where `path` holds something else or something newer.
    """
    db, before = _opened(path, patience, given)
    db.shut()
    return Versions(at=before, newest=given[-1].number)


def _opened(path: str, patience: float, given: Sequence[Script] | None) -> tuple[Lent, int]:
    refuse_what_cannot_work(path)
    if given is None:
        _refuse_what_is_not_made(path)
    newest = (given or scripts(__package__))[-1].number
    db = _connect(path, Lent)
    try:
        patiently(lambda: _refuse_what_is_not_ours(db, path, newest), patience)
        if given is None:
            patiently(lambda: _refuse_what_is_older(db, path, newest), patience)
        patiently(lambda: _use_the_log(db, path), patience)
        if given is None:
            return db, newest
        return db, patiently(lambda: _migrate(db, path, given), patience)
    except BaseException:
        db.shut()
        raise


def open_reader(path: str) -> sqlite3.Connection:
    """A connection that cannot write."""
    db = _connect(path, sqlite3.Connection)
    db.execute("PRAGMA query_only = ON")
    return db


def _connect(path: str, kind: type[C]) -> C:
    return sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False, factory=kind
    )


def refuse_what_cannot_work(path: str) -> None:
    """Raise StoreError for a place where no file can be, and for a SQLite that is too old."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise StoreError(
            reason=f"SQLite {sqlite3.sqlite_version} is too old: use a Python built with"
            f" {'.'.join(map(str, OLDEST))} or newer."
        )
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreError(reason=NO_FOLDER.format(folder=folder))
    if os.path.isdir(path):
        raise StoreError(reason=f"{path} is a folder: give the path of a file in it.")


def _refuse_what_is_not_made(path: str) -> None:
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        raise StoreError(reason=f"{path} is no store yet: make it with `remit migrate`.")


def _refuse_what_is_not_ours(db: sqlite3.Connection, path: str, newest: int) -> None:
    version = version_of(db)
    if version is None:
        raise StoreError(reason=FOREIGN.format(path=path))
    refuse_newer(version, path, newest)


def version_of(db: sqlite3.Connection) -> int | None:
    """The number of the file's schema; 0 where nothing is made yet, None where the file is
    another program's. All is of one moment: another process may be making the same store."""
    db.execute("BEGIN")
    try:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        mark, version = _ask(db, "application_id"), _ask(db, "user_version")
    finally:
        db.execute("ROLLBACK")
    return None if mark != OURS and (mark or version or tables) else version


def refuse_newer(version: int, path: str, newest: int) -> None:
    """Raise StoreError for a schema that this code has never heard of."""
    if version > newest:
        raise StoreError(
            reason=f"{path} has schema {version}, written by a newer remit, and this one knows"
            f" schemas up to {newest}: update remit."
        )


def _refuse_what_is_older(db: sqlite3.Connection, path: str, newest: int) -> None:
    version = _ask(db, "user_version")
    if version < newest:
        raise StoreError(
            reason=f"{path} has schema {version}, and this remit needs {newest}: bring it up to"
            " date with `remit migrate`."
        )


def _use_the_log(db: sqlite3.Connection, path: str) -> None:
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(reason=f"{path} cannot have a write-ahead log: put it on a local disk.")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    # What is deleted is written over, and not only left to be written over one day.
    db.execute("PRAGMA secure_delete = ON")


def _migrate(db: sqlite3.Connection, path: str, given: Sequence[Script]) -> int:
    """Make what is missing; the number it was missing from."""
    newest = given[-1].number
    if _ask(db, "user_version") == newest:
        return newest
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it since.
        version = _ask(db, "user_version")
        refuse_newer(version, path, newest)
        for script in given:
            if script.number > version:
                for statement in _statements(script.text):
                    db.execute(statement)
        db.execute(f"PRAGMA application_id = {OURS}")
        db.execute(f"PRAGMA user_version = {newest}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return version


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
