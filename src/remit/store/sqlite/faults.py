"""What SQLite's failures mean: which ones pass, and what to do about the others."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from remit.values.errors import StoreError

T = TypeVar("T")

PATIENCE = 30.0
"""How many seconds a call waits for a lock that another process holds."""

_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_LONGEST_PAUSE = 0.02
_MEANINGS = {
    sqlite3.SQLITE_BUSY: "stayed locked: end the program that keeps it locked, then try again",
    sqlite3.SQLITE_LOCKED: "stayed locked: end the program that keeps it locked, then try again",
    sqlite3.SQLITE_PROTOCOL: "stayed locked: it must be on a local disk, not on a network share",
    sqlite3.SQLITE_FULL: "has no room on its disk: free some space, then try again",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup, or try sqlite3's .recover",
    sqlite3.SQLITE_NOTADB: "is no SQLite database: give the path of another file",
    sqlite3.SQLITE_READONLY: "cannot be written: give this user write access to it and its folder",
    sqlite3.SQLITE_PERM: "cannot be used: give this user access to it and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the path, and the access to its folder",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check its disk, and that it is not full",
}


def patiently(attempt: Callable[[], T], patience: float) -> T:
    """What `attempt` gives, tried again for `patience` seconds while another holds a lock.

    The pauses are short and uneven: SQLite's own grow in step and starve one of many writers.
    """
    deadline = time.monotonic() + patience
    pause = 0.001
    while True:
        try:
            return attempt()
        except sqlite3.Error as error:
            if _primary_code(error) not in _PASSING or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(pause / 4, pause))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def passes(error: Exception) -> bool:
    """Whether nothing was done because another holds a lock."""
    return isinstance(error, sqlite3.Error) and _primary_code(error) in _PASSING


def explained(error: Exception, path: str) -> Exception:
    """`error` as a StoreError with a reason and the mend, if it is one of SQLite's."""
    if not isinstance(error, sqlite3.Error):
        return error
    meaning = _MEANINGS.get(_primary_code(error), "cannot do this: look at SQLite's own words")
    told = StoreError(reason=f"the database {path} {meaning} (SQLite: {error}).")
    told.__cause__ = error
    return told


def _primary_code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF
