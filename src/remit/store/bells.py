"""Who waits for a store's news: each waiter has a bell of its own."""

from __future__ import annotations

import asyncio
from weakref import WeakSet


class Bell:
    """An iterator that yields once for all the rings since it was last asked."""

    __slots__ = ("__weakref__", "_over", "_rung")

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._over = False

    def __aiter__(self) -> Bell:
        return self

    async def __anext__(self) -> None:
        await self._rung.wait()
        if self._over:
            raise StopAsyncIteration
        self._rung.clear()

    def ring(self) -> None:
        self._rung.set()

    def end(self) -> None:
        """End the iteration."""
        self._over = True
        self._rung.set()


class Bells:
    """All bells that somebody still holds."""

    def __init__(self) -> None:
        self._bells: WeakSet[Bell] = WeakSet()

    def __bool__(self) -> bool:
        return bool(self._bells)

    def hang(self) -> Bell:
        """A new bell, which is forgotten when nobody holds it any more."""
        bell = Bell()
        self._bells.add(bell)
        return bell

    def ring(self) -> None:
        if self._bells:
            for bell in self._bells:
                bell.ring()

    def end(self) -> None:
        """End every iteration."""
        for bell in self._bells:
            bell.end()
        self._bells.clear()
