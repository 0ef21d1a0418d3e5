"""When the write-ahead log is copied back, and by whom.

SQLite up to 3.51.2 can lose pages if one connection starts over with the log while another,
which found nothing left to copy, ends its checkpoint. Here who copies takes a lock before a
commit of its own and keeps it until the copying is done: nobody else copies in between, so there
is always something left to copy, and the log cannot start over meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import suppress

_PAGES = 1000
_PAGE_BYTES = 4096
_PAGES_A_WRITE = 3


class Checkpoints:
    """Counts what one writer adds to the log, and copies it back now and then."""

    def __init__(self, path: str) -> None:
        self._lock = os.open(f"{path}-checkpoint", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        self._pages = 0

    @property
    def near(self) -> bool:
        """Whether a small commit may be followed by a checkpoint."""
        return self._pages >= _PAGES - 10 * _PAGES_A_WRITE

    def reserve(self, writes: int, size: int) -> bool:
        """Note what is about to be committed. True if a checkpoint is to follow the commit; the
        lock is then held until `run`, or `abandon`."""
        self._pages += writes * _PAGES_A_WRITE + size // _PAGE_BYTES
        if self._pages < _PAGES:
            return False
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def run(self, db: sqlite3.Connection) -> None:
        """Copy the log back as far as readers allow; a failure is left to the next time."""
        try:
            with suppress(sqlite3.Error):
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            self._pages = 0
            self.abandon()

    def abandon(self) -> None:
        """Give the lock back."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._lock)
