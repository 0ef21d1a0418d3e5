"""What every store answers. Each write is one transaction: it happens whole or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from remit.store.records import (
    Append,
    Appended,
    Busy,
    Claim,
    Created,
    Delivered,
    Entry,
    Fenced,
    Head,
    Held,
    NewRun,
    News,
    Over,
    Query,
    RunRow,
    Signal,
    Signalled,
    Stopped,
    Undelivered,
)


class Heart(Protocol):
    """Renews leases from a thread, where no event loop is needed."""

    def beat(self, worker: str, lasts: float) -> bool:
        """As `Store.beat`, for a worker that is known: whether its lease was still alive."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Store(Protocol):
    """Runs, their journals, threads, signals and leases.

    Outcomes are values: a lost race is never an exception. `StoreError` is raised where the
    store itself fails; the outcome of a write is then unknown until it is read.
    """

    async def open(self) -> None:
        """Make what is missing. Raises StoreError where the store cannot be opened, or was
        written by a newer remit."""
        ...

    async def close(self) -> None:
        """Let go of everything. Waiting writes are finished first."""
        ...

    async def create(self, new: NewRun) -> Created | Busy:
        """Make a queued run with its first entry, unless another run is live on its thread.

        The run's base is pinned to the thread's newest ended run. The same id twice is one run.
        """
        ...

    async def claim(
        self,
        worker: str,
        programs: Collection[str],
        *,
        format: int,
        room: int = 1,
        run: str | None = None,
    ) -> Sequence[Claim]:
        """Take up to `room` queued runs of `programs` that are due, the longest due first, or
        just `run`. Each gets a new token and the worker as its holder. Runs that hold entries
        of a format above `format` are left alone. Nothing for a worker that has lapsed."""
        ...

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        """Push the worker's lease out to `lasts` seconds from now and tell what it holds.

        With `join` the worker is made known first. None if its lease has lapsed: it then holds
        nothing, whatever it believes, and goes on under a new id.
        """
        ...

    def heart(self) -> Heart:
        """What renews leases while the caller's event loop is stuck; for one thread."""
        ...

    async def release(self, worker: str, run: str, token: int, *, abandoned: bool = False) -> bool:
        """Give a held run back to the queue, due at once; it counts as no death. With
        `abandoned`, work of this holder may go on: it counts as lost from now on. False if the
        worker does not hold it under `token`."""
        ...

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        """Write each item of `batch`, in order; an outcome that refuses one harms no other.

        `Fenced` unless the run is running under the item's token and at its `seq`. An item that
        changes the status is `News` unless its `seen` is the run's inbox. Progress resets the
        count of deaths. An end frees the thread and makes the run its newest.
        """
        ...

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        """The run's entries with a sequence number above `after`, in order."""
        ...

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        """The journals of the runs that `run` builds on, oldest first, without its own."""
        ...

    async def get(self, run: str) -> RunRow | None:
        """The run's row."""
        ...

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        """Sequence number and status of each of `runs` that exists."""
        ...

    async def find(self, query: Query) -> Sequence[RunRow]:
        """Up to `query.limit` rows, newest first."""
        ...

    async def thread_head(self, thread: str) -> str | None:
        """The newest ended run of a thread."""
        ...

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        """Answer keys that a paused run asks for: all of them, each for the first time, or none.

        When no key is left the run is queued. The same `id` again is the same delivery. None if
        the run does not exist.
        """
        ...

    async def signals(self, run: str) -> Sequence[Signal]:
        """The run's signals: answered ones in the order of their answers, then the others."""
        ...

    async def cancel(
        self, run: str, body: bytes, format: int, signal: bytes
    ) -> Stopped | Signalled | Over:
        """End a queued or paused run as cancelled, with `body` as its last entry; leave
        `signal` under the key `cancel` for the holder of a running one (once)."""
        ...

    async def sweep(self) -> Sequence[str]:
        """Queue the runs whose holder's lease has ended, each with a higher token and one more
        death, and forget those holders. Returns the runs' ids."""
        ...

    def wakeups(self) -> AsyncIterator[None]:
        """Yields when something may have changed, here or in another process. May be silent."""
        ...
