"""Following runs: recorded first, then live, without a gap and without a double."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Container
from contextlib import aclosing

from remit.host.bus.memory import Hint, MemoryBus, Passing, Recorded
from remit.kernel.facts import AnyFact, Finished, Paused, decode
from remit.store.protocol import Store
from remit.store.records import RunRow
from remit.values.errors import RunNotFoundError
from remit.values.results import ENDED


async def follow(
    store: Store, bus: MemoryBus, run: str, after: int = 0
) -> AsyncGenerator[Recorded | Passing, None]:
    """Every fact of `run` above `after`, in order and once, and what passes in between; ends
    after the last fact. Raises RunNotFoundError where it is deleted meanwhile."""
    async with aclosing(_items(store, bus, run, after)) as items:
        async for item in items:
            yield item
            if isinstance(item, Recorded) and isinstance(item.fact, Finished):
                return


async def _items(
    store: Store, bus: MemoryBus, run: str, after: int
) -> AsyncGenerator[Recorded | Passing, None]:
    with bus.subscribe(run) as news:
        seq, stale = after, True
        while True:
            if stale:
                entries = await store.read(run, seq)
                for entry in entries:
                    seq = entry.seq
                    yield Recorded(seq, decode(entry.body))
                if not entries and await store.get(run) is None:
                    raise RunNotFoundError(run=run)
                stale = False
            match await news.get():
                case Recorded(next_, _) as item if next_ == seq + 1:
                    seq = next_
                    yield item
                case Recorded(next_, _):
                    stale = next_ > seq
                case Passing(_, last) as item:
                    # What led to a fact that the reader has already is of no use to it.
                    if last >= seq:
                        yield item
                case Hint():
                    stale = True


async def facts_of(store: Store, run: str) -> list[tuple[int, AnyFact]]:
    """All that is recorded of `run`."""
    return [(entry.seq, decode(entry.body)) for entry in await store.read(run)]


async def settled(store: Store, bus: MemoryBus, run: str) -> RunRow | None:
    """The run's row once it has ended or waits for people; None if there is no such run."""
    with bus.subscribe(run, follows=False) as news:
        while True:
            row = await store.get(run)
            if row is None or row.status in ENDED or await _waits_for_people(store, row):
                return row
            await news.get()


async def _waits_for_people(store: Store, row: RunRow) -> bool:
    """Whether the run is paused, and for something else than a time alone."""
    if row.status != "paused" or row.due is None:
        return row.status == "paused"
    for entry in await store.read(row.id, row.seq - 1):
        match decode(entry.body):
            case Paused(asks=(), listens=False):
                return False
    return True


class Watcher:
    """Tells this process's readers what other processes have stored."""

    def __init__(self, store: Store, bus: MemoryBus) -> None:
        self._store, self._bus = store, bus
        self._known: dict[str, tuple[int, str]] = {}

    async def look(self, here: Container[str] = ()) -> None:
        """Compare every run that is read with the store, in one query, and hint at news; that
        a run is gone is news too. Runs that are driven `here` tell theirs themselves."""
        watched = [run for run in self._bus.watched() if run not in here]
        if not watched:
            self._known.clear()
            return
        heads = await self._store.heads(watched)
        known, self._known = (
            self._known,
            {run: (head.seq, head.status) for run, head in heads.items()},
        )
        for run in watched:
            if run not in heads:
                self._bus.publish(run, Hint())
        for run, now in self._known.items():
            if known.get(run) != now and now[0] > self._bus.told(run):
                self._bus.publish(run, Hint())
