"""An open database: a connection that writes, two that read, one for news."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from remit.store.bells import Bells
from remit.store.postgres import schema
from remit.store.postgres.address import Address
from remit.store.postgres.lane import Lane, Order, Plan
from remit.store.postgres.news import News
from remit.store.postgres.statements import Queries
from remit.values.errors import StoreError

T = TypeVar("T")
Draw = Callable[[Queries, T], Plan]


class Connections:
    """Work for the database. Each connection is opened when it is first needed."""

    # Reads have two lanes, so that a look at a few rows does not wait for a long journal.

    def __init__(self, address: Address, sql: Queries, patience: float, bells: Bells) -> None:
        self._sql = sql
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._writer = Lane(address)
        self._looker = Lane(address)
        self._reader = Lane(address)
        self.news = News(address, sql, bells)
        self._shared: dict[Draw[Any], Callable[[Sequence[Any]], Plan]] = {}

    @classmethod
    async def open(cls, address: Address, sql: Queries, patience: float, bells: Bells) -> Self:
        """Open the database at `address`; raises StoreError where that cannot be."""
        await schema.prepare(address, patience)
        return cls(address, sql, patience, bells)

    def check_loop(self) -> None:
        """Raises StoreError on another event loop than the one that opened the connections."""
        if asyncio.get_running_loop() is not self._loop:
            raise StoreError(
                reason="this store was opened in another event loop: close it there, or give each"
                " loop a store of its own."
            )

    async def write(
        self,
        draw: Draw[Any],
        asked: Any,
        *,
        told: Callable[[], None] | None = None,
        again: bool = False,
    ) -> Any:
        """What `draw` plans for `asked`, in a transaction of its own that is durable when this
        returns. With `again` it may be carried out twice without harm."""
        order = self._order(lambda all: draw(self._sql, *all), asked, again)
        order.told = told
        return await self._take(self._writer, order)

    async def write_together(
        self,
        draw: Draw[Sequence[Any]],
        asked: Any,
        *,
        size: int,
        told: Callable[[], None],
        again: bool = False,
    ) -> Any:
        """The same, in a transaction with all that is asked of `draw` at the moment."""
        shared = self._shared.get(draw)
        if shared is None:
            shared = self._shared[draw] = lambda all: draw(self._sql, all)
        order = self._order(shared, asked, again)
        order.shared, order.size, order.told = True, size, told
        return await self._take(self._writer, order)

    async def look(self, draw: Draw[Any], asked: Any) -> Any:
        """What `draw` plans for `asked`, which reads a few rows by their keys."""
        order = self._order(lambda all: draw(self._sql, *all), asked, True)
        return await self._take(self._looker, order)

    async def read(self, draw: Draw[Any], asked: Any) -> Any:
        """What `draw` plans for `asked`, which only reads."""
        order = self._order(lambda all: draw(self._sql, *all), asked, True)
        return await self._take(self._reader, order)

    async def close(self) -> None:
        """Finish what waits, then let go of the connections."""
        await self._writer.stop()
        for lane in (self._looker, self._reader, self.news):
            await lane.stop()

    def _order(self, draw: Callable[[Sequence[Any]], Plan], asked: Any, again: bool) -> Order[Any]:
        future = self._loop.create_future()
        return Order(draw, asked, future, self._loop.time() + self._patience, again)

    async def _take(self, lane: Lane, order: Order[Any]) -> Any:
        lane.take(order)
        return await order.future
