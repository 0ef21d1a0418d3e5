"""The store in one SQLite file, for the processes of one machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

from remit.store.bells import Bells
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
from remit.store.sqlite import effect, inbox, journal, leases, reads
from remit.store.sqlite.connections import Connections, Work
from remit.store.sqlite.faults import PATIENCE
from remit.store.sqlite.health.upkeep import SqliteUpkeep
from remit.store.sqlite.heart import Heart
from remit.store.sqlite.lane import Outcome
from remit.store.sqlite.moment import Moment, moment
from remit.store.sqlite.money import holds, ledger
from remit.store.sqlite.runs import retention
from remit.values.clock import Clock, SystemClock
from remit.values.errors import ConfigError, StoreError

T = TypeVar("T")

_LOOK_EVERY = 0.025
_BYTES_OF_AN_EFFECT = 64_000
"""What an effect is taken to write, of which nothing is known."""


class SqliteStore:
    """A `Store` in the file at `path`, on a local disk.

    Writes of all callers are committed together, durably, by one thread. `patience` is how many
    seconds a call waits while another process keeps the file locked. Without `migrate` a file
    whose schema is older is refused, and so is one that is no store yet. Raises ConfigError for
    an empty path and for `:memory:`.
    """

    transacts: Literal["sync", "async"] = "sync"

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Clock | None = None,
        *,
        patience: float = PATIENCE,
        migrate: bool = True,
    ) -> None:
        name = os.fspath(path)
        if not name or name == ":memory:":
            raise ConfigError(
                "a SQLite store needs a file: give its path, or use memory: for a store"
                " that ends with the process"
            )
        self._path = os.path.abspath(name)
        self._clock = clock or SystemClock()
        self._patience = patience
        self._migrate = migrate
        self._bells = Bells()
        self._watch: asyncio.TimerHandle | None = None
        self._opening = asyncio.Lock()
        self._connections: Connections | None = None

    async def open(self) -> None:
        """Make the file and its tables where they are missing; nothing if it is open."""
        async with self._opening:
            if self._connections is None:
                self._connections = await Connections.open(
                    self._path, self._now, self._patience, self._told, migrating=self._migrate
                )

    async def close(self) -> None:
        """Finish the writes that wait and let go of the file. `open` opens it again."""
        connections, self._connections = self._connections, None
        if connections is None:
            return
        self._bells.end()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        await connections.close()

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        return await self._write(lambda db, now: journal.create(db, now, new), size=len(new.body))

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
        wish = leases.Wish(worker, programs, format, room, run, deploy)
        # An idle worker asks often and finds nothing: it must not take the write lock for that.
        if not await self._look(lambda db, now: leases.due_for(db, now, wish)):
            return []
        return await self._write(lambda db, now: leases.claim(db, now, wish), news=False)

    async def next_due(self, programs: Collection[str]) -> float | None:
        return await self._look(lambda db, now: leases.next_due(db, now, programs))

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        return await self._write(
            lambda db, now: leases.beat(db, now, worker, lasts, join), news=False
        )

    def heart(self) -> Heart:
        return Heart(self._path, self._now, self._patience)

    async def release(
        self,
        worker: str,
        run: str,
        token: int,
        *,
        abandoned: bool = False,
        refusal: Refusal | None = None,
    ) -> bool:
        parting = leases.Parting(worker, run, token, abandoned, refusal)
        return await self._write(lambda db, now: leases.release(db, now, parting))

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        size, news = 0, False
        for each in batch:
            news = news or each.status is not None
            for body in each.entries:
                size += len(body)
        item = batch[0] if len(batch) == 1 and journal.carries_on(batch[0]) else None
        return await self._open().write(
            lambda db, now: journal.append(db, now, batch), size, news, item
        )

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced | News:
        try:
            return await self._open().write_alone(
                lambda db, now: effect.transact(db, now, item, work), _BYTES_OF_AN_EFFECT
            )
        except effect.Raised as raised:
            error = raised.error
        # Outside, so that it is raised as it was.
        raise error

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        # A journal is short as a rule, and a hand-over takes longer than reading it.
        short = await self._look(lambda db, _: reads.read_short(db, run, after))
        if short is not None:
            return short
        return await self._read(lambda db, _: reads.read(db, run, after))

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        return await self._read(lambda db, _: reads.lineage(db, run))

    async def get(self, run: str) -> RunRow | None:
        return await self._look(lambda db, _: reads.get(db, run))

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        return await self._look(lambda db, _: reads.heads(db, runs))

    async def find(self, query: Query) -> Sequence[RunRow]:
        return await self._read(lambda db, _: reads.find(db, query))

    async def thread_head(self, thread: str) -> str | None:
        return await self._look(lambda db, _: reads.thread_head(db, thread))

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        size = sum(map(len, answers.values()))
        return await self._write(
            lambda db, now: inbox.deliver(db, now, run, answers, id), size=size
        )

    async def send(self, run: str, body: bytes, id: str) -> Sent | Over:
        return await self._write(lambda db, now: inbox.send(db, now, run, body, id), size=len(body))

    async def signals(self, run: str) -> Sequence[Signal]:
        return await self._look(lambda db, _: reads.signals(db, run))

    async def cancel(
        self, run: str, body: bytes, format: int, signal: bytes
    ) -> Stopped | Signalled | Over:
        return await self._write(
            lambda db, now: inbox.cancel(db, now, run, body, format, signal),
            size=len(body) + len(signal),
        )

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        if not await self._look(leases.any_lapsed):
            return []
        return await self._write(lambda db, now: leases.sweep(db, now, limit))

    async def meters(self, meters: Sequence[Meter]) -> Sequence[MeterState]:
        ask = (
            self._look
            if await self._look(lambda db, _: holds.all_there(db, meters))
            else self._read
        )
        return await ask(lambda db, now: holds.meters(db, now, meters))

    async def usage(self, query: LedgerQuery) -> Sequence[LedgerSum]:
        return await self._read(lambda db, _: ledger.usage(db, query))

    async def delete_before(self, when: int, limit: int = 500) -> int:
        found = await self._read(lambda db, _: retention.old_runs(db, when, limit))
        if not found:
            return 0
        return await self._write(
            lambda db, _: retention.delete_before(db, when, limit, found), news=False
        )

    async def forget(self, user: str, tenant: str | None, limit: int = 500) -> int:
        return await self._write(
            lambda db, _: retention.forget(db, user, tenant, limit), news=False
        )

    def upkeep(self) -> SqliteUpkeep:
        """Looks after the file, whether the store is open or not."""
        return SqliteUpkeep(self._path, self._now, self._patience)

    def wakeups(self) -> AsyncIterator[None]:
        self._open()
        bell = self._bells.hang()
        if self._watch is None:
            self._watch_others()
        return bell

    def _write(self, work: Work[T], *, size: int = 0, news: bool = True) -> asyncio.Future[T]:
        return self._open().write(work, size, news)

    async def _look(self, work: Work[T]) -> T:
        return await self._open().look(work)

    def _read(self, work: Work[T]) -> asyncio.Future[T]:
        return self._open().read(work)

    def _open(self) -> Connections:
        if self._connections is None:
            raise StoreError(reason=f"the store {self._path} is not open: open it first.")
        return self._connections

    def _now(self) -> Moment:
        return moment(self._clock)

    def _told(self, outcomes: Sequence[Outcome]) -> None:
        if any(order.news and error is None for order, _, error in outcomes):
            self._bells.ring()

    def _watch_others(self) -> None:
        """Ring for what other processes committed, and look again while anybody listens."""
        self._watch = None
        if self._connections is not None and self._bells:
            if self._connections.changed():
                self._bells.ring()
            self._watch = asyncio.get_running_loop().call_later(_LOOK_EVERY, self._watch_others)
