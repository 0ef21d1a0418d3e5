"""An open database: a connection that writes, two that read, one for news."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self

from remit.store.bells import Bells
from remit.store.postgres import schema
from remit.store.postgres.address import Address
from remit.store.postgres.effect import Effects
from remit.store.postgres.lane import Lane, Order, Plan
from remit.store.postgres.news import News
from remit.store.postgres.statements import Queries
from remit.values.errors import StoreError

Draw = Callable[[Queries, Any], Plan]
"""Makes a plan of what is asked."""


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
        self.effects = Effects(address, sql, patience)
        self._shared: dict[Draw, Callable[[Sequence[Any]], Plan]] = {}

    @classmethod
    async def open(
        cls,
        address: Address,
        sql: Queries,
        patience: float,
        bells: Bells,
        *,
        migrating: bool = True,
    ) -> Self:
        """Open the database at `address`; raises StoreError where that cannot be."""
        await schema.prepare(address, patience, migrating=migrating)
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
        draw: Draw,
        asked: Any,
        *,
        told: Callable[[], None] | None = None,
        again: bool = False,
    ) -> Any:
        """What `draw` plans for `asked`, in a transaction of its own that is durable when this
        returns. `told` is called when it is, or may be; with `again` it may be carried out twice.
        """
        alone = self._alone(draw)
        return await self._take(self._writer, alone, asked, told=told, again=again)

    async def write_together(
        self,
        draw: Draw,
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
        return await self._take(
            self._writer, shared, asked, told=told, again=again, size=size, shared=True
        )

    async def look(self, draw: Draw, asked: Any) -> Any:
        """What `draw` plans for `asked`, which reads a few rows by their keys."""
        return await self._take(self._looker, self._alone(draw), asked, again=True)

    async def read(self, draw: Draw, asked: Any) -> Any:
        """What `draw` plans for `asked`, which only reads."""
        return await self._take(self._reader, self._alone(draw), asked, again=True)

    async def close(self) -> None:
        """Finish what waits, then let go of the connections."""
        await self.effects.stop()
        await self._writer.stop()
        await asyncio.gather(*(lane.stop() for lane in (self._looker, self._reader, self.news)))

    def _alone(self, draw: Draw) -> Callable[[Sequence[Any]], Plan]:
        return lambda all: draw(self._sql, *all)

    async def _take(
        self, lane: Lane, draw: Callable[[Sequence[Any]], Plan], asked: Any, **marks: Any
    ) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        deadline = self._loop.time() + self._patience
        lane.take(Order(draw, asked, future, deadline, **marks))
        return await future
