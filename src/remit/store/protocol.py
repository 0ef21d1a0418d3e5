"""What every store answers. Each write is one transaction: it happens whole or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from remit.store.money import LedgerQuery, LedgerSum, Meter, MeterState
from remit.store.records import (
    Append,
    Appended,
    Busy,
    Claim,
    Created,
    Delivered,
    Entry,
    Existing,
    Fenced,
    Head,
    Held,
    NewRun,
    News,
    Over,
    Query,
    Refusal,
    RunRow,
    Sent,
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

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        """Make a queued run with its first entry.

        The same id twice is one run. A start key that is taken makes nothing, also where its run
        was deleted. While another run is live on its thread it waits behind those that wait
        already, where it may. The run's base is pinned when its turn comes. One that brings a
        base begins a thread: where the thread has a live run, or else a newest ended one, it is
        `Busy` with that, and never waits.
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
        deploy: str = "",
    ) -> Sequence[Claim]:
        """Take up to `room` runs of `programs` that are due, queued or paused, the longest due
        first, or just `run`. Each gets a new token and the worker as its holder. Runs that hold
        entries of a format above `format`, and those that the code of `deploy` refused, are left
        alone. Nothing for a worker that has lapsed."""
        ...

    async def next_due(self, programs: Collection[str]) -> float | None:
        """In how many seconds the next run of `programs` that is not due yet will be; None if
        no run waits for a time."""
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

    async def release(
        self,
        worker: str,
        run: str,
        token: int,
        *,
        abandoned: bool = False,
        refusal: Refusal | None = None,
    ) -> bool:
        """Give a held run back to the queue, due at once; it counts as no death. With
        `abandoned`, work of this holder may go on: it counts as lost from now on. With `refusal`
        the code of that deployment claims it no more. False if the worker does not hold it
        under `token`."""
        ...

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        """Write each item of `batch`, in order; an outcome that refuses one harms no other.

        `Fenced` unless the run is running under the item's token and at its `seq`. An item that
        changes the status, or withdraws a key, is `News` unless its `seen` is the run's inbox.
        Progress resets the count of deaths. Settlements are written, then holds are granted or
        denied, and neither refuses an entry. An end settles what is still held at its bound, as
        an estimate, frees the thread for the run that waits longest, and makes this one its
        newest.
        """
        ...

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        """The run's entries with a sequence number above `after`, in order."""
        ...

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        """The journals of the runs that `run` builds on, oldest first and each as far as it was
        built on, without its own. They begin after a run that was forgotten."""
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
        """Answer keys that a run asks for: all of them, each for the first time, or none.

        When no key is left a paused run is queued; one that goes on learns of the answer by its
        inbox. The same `id` again is the same delivery. None if the run does not exist.
        """
        ...

    async def send(self, run: str, body: bytes, id: str) -> Sent | Over:
        """Leave a message for a run, as an answered signal under the key `message/` and `id`;
        the same `id` again is the same message. A paused run that listens is queued."""
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

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        """Queue up to `limit` runs whose holder's lease has ended, each with a higher token and
        one more death, and forget holders that hold no more. Returns the runs' ids."""
        ...

    async def meters(self, meters: Sequence[Meter]) -> Sequence[MeterState]:
        """What each of `meters` stands at, in their order."""
        ...

    async def usage(self, query: LedgerQuery) -> Sequence[LedgerSum]:
        """The ledger added up, one sum a group, in the order of the groups; without groups one
        sum. The ledger outlives the runs."""
        ...

    async def delete_before(self, when: int, limit: int = 500) -> int:
        """Delete up to `limit` runs that ended before the wall time `when`, with all that is
        theirs but their ledger rows and start keys; how many there were.

        A run that another builds on stays, and so does the history of a thread that lives: one
        whose newest run has not ended, or ended since.
        """
        ...

    async def forget(self, user: str, tenant: str | None, limit: int = 500) -> int:
        """Delete up to `limit` ended runs of a user of a tenant, whatever builds on them, and
        threads of which no run is left; how many runs there were. Ledger rows and start keys
        stay."""
        ...

    def wakeups(self) -> AsyncIterator[None]:
        """Yields when something may have changed, here or in another process. May be silent."""
        ...


class Transacting(Protocol):
    """A store that can record a call's result in the transaction that made its effect."""

    transacts: Literal["sync", "async"]
    """Whether `work` is called, on the thread that writes, or awaited."""

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced | News:
        """Write `item` with the entries that `work` gives for an open transaction, and all that
        `work` did in it, as one commit. Raises EffectError where `work` ended the transaction
        or left it broken.

        The fence is compared first, and `work` is not called where it misses. What `work` raises
        is raised, and nothing of it stays. SQLite calls `work` with its connection, on the
        thread that writes; PostgreSQL awaits `work`, with a connection of its own.
        """
        ...
