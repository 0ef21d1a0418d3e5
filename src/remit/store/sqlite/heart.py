"""Renewing a lease without an event loop."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from remit.store.sqlite import leases
from remit.store.sqlite.faults import explained, patiently
from remit.store.sqlite.moment import Moment


class Heart:
    """`Store.heart`, with a connection of its own that is opened when it is first needed."""

    def __init__(self, path: str, now: Callable[[], Moment], patience: float) -> None:
        self._path = path
        self._now = now
        self._patience = patience
        self._db: sqlite3.Connection | None = None

    def beat(self, worker: str, lasts: float) -> bool:
        """Whether the worker's lease was alive and is renewed. Raises StoreError."""
        try:
            return patiently(lambda: self._beat(worker, lasts), self._patience)
        except sqlite3.Error as error:
            raise explained(error, self._path) from error

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _beat(self, worker: str, lasts: float) -> bool:
        if self._db is None:
            self._db = sqlite3.connect(self._path, timeout=0, isolation_level=None)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA wal_autocheckpoint = 0")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            held = leases.beat(self._db, self._now(), worker, lasts, False)
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return held is not None
