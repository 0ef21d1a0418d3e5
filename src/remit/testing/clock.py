"""A clock that stands still until it is told to move."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class ManualClock:
    """Time for tests: `advance` moves it and wakes the sleepers whose time has come."""

    def __init__(self, wall: float = 1_800_000_000.0, steady: float = 1_000.0) -> None:
        self._wall = wall
        self._steady = steady
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def wall(self) -> float:
        return self._wall

    def steady(self) -> float:
        return self._steady

    async def sleep(self, seconds: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._steady + seconds, next(self._order), waiter))
        await waiter

    def advance(self, seconds: float) -> None:
        """Move both times by `seconds`; sleepers go on when the loop runs next."""
        self._wall += seconds
        self._steady += seconds
        while self._sleepers and self._sleepers[0][0] <= self._steady:
            _, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                waiter.set_result(None)
