"""The one connection that writes: what waits is committed together."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import Any

from remit.store.sqlite.checkpoint import Checkpoints
from remit.store.sqlite.faults import explained, passes, patiently
from remit.store.sqlite.journal import carry_on_together
from remit.store.sqlite.lane import Order, Outcome
from remit.store.sqlite.lent import Lent
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.pace import Pace


class Writer:
    """Carries out orders in transactions. An order that fails harms no neighbour."""

    def __init__(self, db: Lent, path: str, now: Callable[[], Moment], patience: float) -> None:
        self._db = db
        self._path = path
        self._now = now
        self._patience = patience
        self._checkpoints = Checkpoints(path)
        self._version = self._data_version()
        self._at_work = threading.Lock()
        self.pace = Pace()
        self.commits = 0
        """How many transactions were committed here."""
        self.others = 0
        """How many of them found that another handle had committed since the one before."""

    def carry_out(self, orders: Sequence[Order[Any]]) -> list[Outcome]:
        """Commit all orders together; where that fails, which writes nothing, each alone."""
        if len(orders) > 1 and any([order.alone for order in orders]):
            together = [order for order in orders if not order.alone]
            groups = [together, *([order] for order in orders if order.alone)]
            return [outcome for group in groups if group for outcome in self.carry_out(group)]
        try:
            values = patiently(lambda: self._in_turn(orders), self._patience)
        except Exception as error:
            if len(orders) == 1 or passes(error):
                # Still locked after all that patience: the same for everyone who waits.
                told = explained(error, self._path)
                return [(order, None, told) for order in orders]
            return [outcome for order in orders for outcome in self.carry_out([order])]
        return [(order, value, None) for order, value in zip(orders, values, strict=True)]

    def carry_out_now(self, order: Order[Any]) -> Outcome | None:
        """`carry_out` for one order; None, with nothing done, where that would take time."""
        if self._checkpoints.near or not self._at_work.acquire(blocking=False):
            return None
        began = time.monotonic()
        try:
            (value,) = self._commit([order])
        except Exception as error:
            return None if passes(error) else (order, None, explained(error, self._path))
        finally:
            self._at_work.release()
            self.pace.note(time.monotonic() - began, on_loop=True)
        return order, value, None

    @contextmanager
    def idle(self) -> Iterator[sqlite3.Connection | None]:
        """The connection, for a look while it has nothing to do; None while it has."""
        if not self._at_work.acquire(blocking=False):
            yield None
            return
        try:
            yield self._db
        finally:
            self._at_work.release()

    def close(self) -> None:
        self._db.shut()
        self._checkpoints.close()

    def _in_turn(self, orders: Sequence[Order[Any]]) -> list[Any]:
        with self._at_work:
            began = time.monotonic()
            values = self._commit(orders)
            self.pace.note(time.monotonic() - began, on_loop=False)
            return values

    def _commit(self, orders: Sequence[Order[Any]]) -> list[Any]:
        self._db.execute("BEGIN IMMEDIATE")
        reserved = False
        try:
            version = self._data_version()
            # The time is taken under the lock, so that it is never before another's last write.
            now = self._now()
            values = self._values(orders, now)
            reserved = self._checkpoints.reserve(len(orders), sum(o.size for o in orders))
            self._db.execute("COMMIT")
            self.commits += 1
            self.others += version != self._version
            self._version = version
        except BaseException:
            if reserved:
                self._checkpoints.abandon()
            self._roll_back()
            raise
        if reserved:
            self._checkpoints.run(self._db)
        return values

    def _values(self, orders: Sequence[Order[Any]], now: Moment) -> list[Any]:
        values: list[Any] = []
        for item, group in groupby(orders, lambda order: order.item is not None):
            side_by_side = list(group)
            items = [order.item for order in side_by_side if order.item is not None]
            if item and 1 < len(items) == len({one.run for one in items}):
                values += [[outcome] for outcome in carry_on_together(self._db, items)]
            else:
                values += [order.work(self._db, now) for order in side_by_side]
        return values

    def _data_version(self) -> int:
        """A number that changes with every commit but those of this connection."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def _roll_back(self) -> None:
        """Undo what was begun, unless SQLite has done so itself, as it does on a full disk."""
        if self._db.in_transaction:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
