"""The bus inside one process. What it holds is lost with the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from remit.kernel.facts import AnyFact, Finished, Paused, decode, is_step
from remit.values.errors import ConfigError
from remit.values.events import has_partial, without_partial

ROOM = 1024


class Recorded(msgspec.Struct, frozen=True):
    """A fact was stored in this process."""

    seq: int
    fact: AnyFact


class Passing(msgspec.Struct, frozen=True):
    """Something was shown that no journal holds, when `after` was the last fact."""

    event: Any
    after: int = 0


class Hint(msgspec.Struct, frozen=True):
    """The run has news in the store."""


Item = Recorded | Passing | Hint


class Subscription:
    """One reader's bounded queue. A reader that stops reading loses what it could not take, and
    is told with a Hint to read the store again."""

    def __init__(self, room: int = ROOM, *, follows: bool = True) -> None:
        self.follows = follows
        """Whether every item is wanted, or only what may mean that the run has settled."""
        self._items: deque[Item] = deque()
        self._room = room
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, item: Item) -> None:
        """Queue `item`."""
        if len(self._items) >= self._room:
            self._items.clear()
            item = Hint()
        elif isinstance(item, Passing) and has_partial(item.event):
            self._drop_partial()
        self._items.append(item)
        self._ready.set()

    def _drop_partial(self) -> None:
        """Keep no value that a newer one takes the place of: all of them together may be large."""
        for at in range(len(self._items) - 1, -1, -1):
            item = self._items[at]
            if isinstance(item, Passing) and has_partial(item.event):
                self._items[at] = Passing(without_partial(item.event), item.after)
                return

    async def get(self) -> Item:
        """The next item; waits for one. Raises ConfigError where none will come any more."""
        while not self._items:
            if self._closed:
                raise ConfigError("the App was left while this was read: wait inside its block")
            self._ready.clear()
            await self._ready.wait()
        return self._items.popleft()

    def close(self) -> None:
        """Nothing will come any more."""
        self._closed = True
        self._ready.set()


class MemoryBus:
    """Subscriptions by run."""

    def __init__(self) -> None:
        self._readers: dict[str, list[Subscription]] = {}
        self._told: dict[str, int] = {}
        self._closed = False

    def publish(self, run: str, item: Item) -> None:
        """Hand `item` to everyone who reads `run` and wants it."""
        readers = self._readers.get(run)
        if not readers:
            return
        settles = isinstance(item, Hint)
        if isinstance(item, Recorded):
            self._told[run] = item.seq
            settles = isinstance(item.fact, Finished | Paused)
        for reader in readers:
            if settles or reader.follows:
                reader.put(item)

    def publish_body(self, run: str, seq: int, body: bytes) -> None:
        """`publish` the fact that is stored as `body`, which is read where somebody wants it."""
        readers = self._readers.get(run)
        if not readers:
            return
        self._told[run] = seq
        settles = not is_step(body)
        wanting = [reader for reader in readers if settles or reader.follows]
        if wanting:
            item = Recorded(seq, decode(body))
            for reader in wanting:
                reader.put(item)

    def told(self, run: str) -> int:
        """The last fact of `run` that its readers were told of here."""
        return self._told.get(run, 0)

    def close(self) -> None:
        """Tell everyone who reads, now or later, that nothing will come any more."""
        self._closed = True
        for readers in self._readers.values():
            for reader in readers:
                reader.close()

    def watched(self) -> Collection[str]:
        """The runs that somebody reads."""
        return tuple(self._readers)

    @contextmanager
    def subscribe(self, run: str, *, follows: bool = True) -> Iterator[Subscription]:
        """A subscription, for as long as the block lasts: to everything, or without `follows`
        to what may mean that the run waits or has ended."""
        reader = Subscription(follows=follows)
        if self._closed:
            reader.close()
        self._readers.setdefault(run, []).append(reader)
        try:
            yield reader
        finally:
            self._readers[run].remove(reader)
            if not self._readers[run]:
                del self._readers[run]
                self._told.pop(run, None)
