"""The bus inside one process. What it holds is lost with the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from remit.kernel.facts import AnyFact

ROOM = 1024


class Recorded(msgspec.Struct, frozen=True):
    """A fact was stored in this process."""

    seq: int
    fact: AnyFact


class Passing(msgspec.Struct, frozen=True):
    """Something was shown that no journal holds."""

    event: Any


class Hint(msgspec.Struct, frozen=True):
    """The run has news in the store."""


Item = Recorded | Passing | Hint


class Subscription:
    """One reader's bounded queue. A reader that stops reading loses what it could not take, and
    is told with a Hint to read the store again."""

    def __init__(self, room: int = ROOM, wants: Callable[[Item], bool] | None = None) -> None:
        self._wants = wants
        self._items: deque[Item] = deque()
        self._room = room
        self._ready = asyncio.Event()

    def put(self, item: Item) -> None:
        """Queue `item`, if the reader wants it."""
        if self._wants is not None and not self._wants(item):
            return
        if len(self._items) >= self._room:
            self._items.clear()
            item = Hint()
        self._items.append(item)
        self._ready.set()

    async def get(self) -> Item:
        """The next item; waits for one."""
        while not self._items:
            self._ready.clear()
            await self._ready.wait()
        return self._items.popleft()


class MemoryBus:
    """Subscriptions by run."""

    def __init__(self) -> None:
        self._readers: dict[str, list[Subscription]] = {}
        self._told: dict[str, int] = {}

    def publish(self, run: str, item: Item) -> None:
        """Hand `item` to everyone who reads `run`."""
        readers = self._readers.get(run)
        if not readers:
            return
        if isinstance(item, Recorded):
            self._told[run] = item.seq
        for reader in readers:
            reader.put(item)

    def told(self, run: str) -> int:
        """The last fact of `run` that its readers were told of here."""
        return self._told.get(run, 0)

    def watched(self) -> Collection[str]:
        """The runs that somebody reads."""
        return tuple(self._readers)

    @contextmanager
    def subscribe(
        self, run: str, wants: Callable[[Item], bool] | None = None
    ) -> Iterator[Subscription]:
        """A subscription, for as long as the block lasts, to what the reader `wants`."""
        reader = Subscription(wants=wants)
        self._readers.setdefault(run, []).append(reader)
        try:
            yield reader
        finally:
            self._readers[run].remove(reader)
            if not self._readers[run]:
                del self._readers[run]
                self._told.pop(run, None)
