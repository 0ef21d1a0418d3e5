"""An open database: a connection that writes, one that reads, one that watches."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from remit.store.records import Append
from remit.store.sqlite.faults import explained, patiently
from remit.store.sqlite.intake import Intake
from remit.store.sqlite.lane import Lane, Order, Outcome
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.others import Others
from remit.store.sqlite.schema import open_reader, open_writer
from remit.store.sqlite.writer import Writer

T = TypeVar("T")
Work = Callable[[sqlite3.Connection, Moment], T]

_ORDERS_A_COMMIT = 64
_BYTES_A_COMMIT = 1_000_000


class Connections:
    """Work for the database: writes and long reads each on a thread of their own, where that is
    needed."""

    # On the loop's thread a short read takes 6 µs instead of 110, but a long one (the lineage of
    # a thread, a body of 3 MB: 7 ms) would stop every run of the process.

    def __init__(
        self, path: str, now: Callable[[], Moment], patience: float, *, migrating: bool = True
    ) -> None:
        self._path = path
        self._now = now
        self._patience = patience
        writing = open_writer(path, patience, migrating=migrating)
        self._writing = Writer(writing, path, now, patience)
        self._reading = open_reader(path)
        self._watching = open_reader(path)
        self._others = Others(self._watching, self._writing)

    @classmethod
    async def open(
        cls,
        path: str,
        now: Callable[[], Moment],
        patience: float,
        told: Callable[[Sequence[Outcome]], None],
        *,
        migrating: bool = True,
    ) -> Self:
        """Open the database at `path`; `told` hears what came of each round of writes.

        Raises StoreError where that cannot be.
        """
        try:
            self = await asyncio.to_thread(cls, path, now, patience, migrating=migrating)
        except sqlite3.Error as error:
            raise explained(error, path) from error
        self._start(told)
        return self

    def write(
        self, work: Work[T], size: int, news: bool, item: Append | None = None
    ) -> asyncio.Future[T]:
        """What `work` gives, in a transaction that is durable when this is done. `item` is told
        where `work` is nothing but one append to a run that goes on."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._intake.take(Order(work, future, size, news, item=item))
        return future

    def write_alone(self, work: Work[T], size: int) -> asyncio.Future[T]:
        """As `write`, in a transaction that nothing else is in."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._intake.hand_over()
        self._writer.take([Order(work, future, size, news=True, alone=True)])
        return future

    def read(self, work: Work[T]) -> asyncio.Future[T]:
        """What `work` gives."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._reader.take([Order(work, future)])
        return future

    async def look(self, work: Work[T]) -> T:
        """What `work`, which reads a few rows by their keys, gives: here and now if it can."""
        try:
            with self._writing.idle() as idle:
                # Whose pages are at hand; another's are read anew after each commit.
                return work(idle or self._watching, self._now())
        except sqlite3.Error:
            return await self.read(work)

    def changed(self) -> bool:
        """Whether another handle, of any process, has committed since this was last asked."""
        return self._others.changed()

    async def close(self) -> None:
        """Finish what waits, then let go of the file."""
        self._watching.close()
        await self._reader.stop(self._reading.close)
        self._intake.hand_over()
        await self._writer.stop(self._writing.close)

    def _start(self, told: Callable[[Sequence[Outcome]], None]) -> None:
        self._reader = Lane("remit-sqlite-reader", self._carry_out_reads, lambda _: None)
        self._writer = Lane(
            "remit-sqlite-writer",
            self._writing.carry_out,
            told,
            orders=_ORDERS_A_COMMIT,
            size=_BYTES_A_COMMIT,
        )
        self._intake = Intake(self._writer, self._writing, told)

    def _carry_out_reads(self, orders: Sequence[Order[Any]]) -> list[Outcome]:
        return [self._read(order) for order in orders]

    def _read(self, order: Order[Any]) -> Outcome:
        try:
            value = patiently(lambda: order.work(self._reading, self._now()), self._patience)
        except Exception as error:
            return order, None, explained(error, self._path)
        return order, value, None
