"""The store in a PostgreSQL database, for any number of processes and machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from remit.store.bells import Bells
from remit.store.money import LedgerQuery, LedgerSum, Meter, MeterState
from remit.store.postgres import inbox, journal, leases, ledger, reads, retention
from remit.store.postgres.address import Address
from remit.store.postgres.connections import Connections
from remit.store.postgres.faults import PATIENCE
from remit.store.postgres.heart import Heart
from remit.store.postgres.statements import Queries
from remit.store.postgres.upkeep import PostgresUpkeep
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
from remit.values.clock import Clock, SystemClock
from remit.values.errors import StoreError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PostgresStore:
    """A `Store` in the schema `schema` of the database that `dsn` names, in libpq's words.

    Writes of all callers are committed together, durably. Time is the database's own; only a
    clock that is not the system's, as tests have, is asked instead. `patience` is how many
    seconds a call waits while the server is away. Without `migrate` a database whose schema is
    older, or not made yet, is refused. Raises ConfigError for a `dsn` that cannot be read.
    """

    transacts: Literal["sync", "async"] = "async"

    def __init__(
        self,
        dsn: str,
        clock: Clock | None = None,
        *,
        schema: str = "remit",
        patience: float = PATIENCE,
        migrate: bool = True,
    ) -> None:
        self._address = Address.parse(dsn, schema)
        self._clock = clock or SystemClock()
        self._sql = Queries(None if type(self._clock) is SystemClock else self._now)
        self._patience = patience
        self._migrate = migrate
        self._bells = Bells()
        self._opening = asyncio.Lock()
        self._connections: Connections | None = None

    async def open(self) -> None:
        """Make the schema and its tables where they are missing; nothing if it is open."""
        async with self._opening:
            if self._connections is None:
                self._connections = await Connections.open(
                    self._address,
                    self._sql,
                    self._patience,
                    self._bells,
                    migrating=self._migrate,
                )

    async def close(self) -> None:
        """Finish the writes that wait and let go of the connections. `open` opens them again."""
        connections, self._connections = self._connections, None
        if connections is None:
            return
        self._bells.end()
        await connections.close()

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        db = self._open()
        made: Created | Existing | Busy = await db.write_together(
            journal.create, new, size=len(new.body), told=db.news.changed, again=True
        )
        return made

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
        wish = leases.Wish(worker, list(programs), format, room, run, deploy)
        # An idle worker asks often and finds nothing: it must not lock anything for that.
        if room < 1 or not await self._open().look(leases.due_for, wish):
            return []
        claims: Sequence[Claim] = await self._open().write(leases.claim, wish)
        return claims

    async def next_due(self, programs: Collection[str]) -> float | None:
        due: float | None = await self._open().look(leases.next_due, list(programs))
        return due

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        asked = leases.Beat(worker, lasts, join)
        held: Sequence[Held] | None = await self._open().write(leases.beat, asked, again=True)
        return held

    def heart(self) -> Heart:
        return Heart(self._address, self._sql)

    async def release(
        self,
        worker: str,
        run: str,
        token: int,
        *,
        abandoned: bool = False,
        refusal: Refusal | None = None,
    ) -> bool:
        db = self._open()
        asked = leases.Release(worker, run, token, abandoned, refusal)
        done: bool = await db.write(leases.release, asked, told=db.news.changed)
        return done

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        db = self._open()
        if not batch:
            return []
        size = sum(len(body) for item in batch for body in item.entries)
        stops = any(item.status is not None for item in batch)
        told = db.news.changed if stops else db.news.grew
        outcomes: Sequence[Appended | Fenced | News] = await db.write_together(
            journal.append, batch, size=size, told=told
        )
        return outcomes

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced | News:
        db = self._open()
        told = db.news.grew if item.status is None else db.news.changed
        try:
            return await db.effects.transact(item, work)
        finally:
            # It may be stored even where that is not known.
            told()

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        entries: Sequence[Entry] = await self._open().read(reads.read, (run, after))
        return entries

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        journals: Sequence[Sequence[Entry]] = await self._open().read(reads.lineage, run)
        return journals

    async def get(self, run: str) -> RunRow | None:
        row: RunRow | None = await self._open().look(reads.get, run)
        return row

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        heads: Mapping[str, Head] = await self._open().look(reads.heads, list(runs))
        return heads

    async def find(self, query: Query) -> Sequence[RunRow]:
        rows: Sequence[RunRow] = await self._open().read(reads.find, query)
        return rows

    async def thread_head(self, thread: str) -> str | None:
        head: str | None = await self._open().look(reads.thread_head, thread)
        return head

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        db = self._open()
        asked = inbox.Delivery(run, answers, id)
        outcome: Delivered | Undelivered | None = await db.write(
            inbox.deliver, asked, told=db.news.changed, again=True
        )
        return outcome

    async def send(self, run: str, body: bytes, id: str) -> Sent | Over:
        db = self._open()
        asked = inbox.Message(run, body, id)
        outcome: Sent | Over = await db.write(inbox.send, asked, told=db.news.changed, again=True)
        return outcome

    async def signals(self, run: str) -> Sequence[Signal]:
        signals: Sequence[Signal] = await self._open().look(reads.signals, run)
        return signals

    async def cancel(
        self, run: str, body: bytes, format: int, signal: bytes
    ) -> Stopped | Signalled | Over:
        db = self._open()
        asked = inbox.Stop(run, body, format, signal)
        outcome: Stopped | Signalled | Over = await db.write(
            inbox.cancel, asked, told=db.news.changed
        )
        return outcome

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        db = self._open()
        if not await db.look(leases.any_lapsed, None):
            return []
        runs: Sequence[str] = await db.write(leases.sweep, limit, told=db.news.changed)
        return runs

    async def meters(self, meters: Sequence[Meter]) -> Sequence[MeterState]:
        states: Sequence[MeterState] = await self._open().look(ledger.meters, meters)
        return states

    async def usage(self, query: LedgerQuery) -> Sequence[LedgerSum]:
        sums: Sequence[LedgerSum] = await self._open().read(ledger.usage, query)
        return sums

    async def delete_before(self, when: int, limit: int = 500) -> int:
        db = self._open()
        count = 0
        # What a run that goes was built on may go with the next look.
        while count < limit:
            runs = await db.read(retention.old_runs, retention.Old(when, limit - count))
            gone: int = await db.write(retention.delete, retention.Gone(runs, when)) if runs else 0
            if not gone:
                break
            count += gone
        return count

    async def forget(self, user: str, tenant: str | None, limit: int = 500) -> int:
        db = self._open()
        theirs = retention.Theirs(user, tenant, max(limit, 0))
        runs = await db.read(retention.runs_of_user, theirs)
        gone: int = await db.write(retention.delete, retention.Gone(runs)) if runs else 0
        return gone

    def upkeep(self) -> PostgresUpkeep:
        """Looks after the schema, whether the store is open or not."""
        return PostgresUpkeep(self._address, self._clock, self._patience)

    def wakeups(self) -> AsyncIterator[None]:
        self._open().news.listen()
        return self._bells.hang()

    def _open(self) -> Connections:
        if self._connections is None:
            place = self._address.place
            raise StoreError(reason=f"the store {place} is not open: open it first.")
        self._connections.check_loop()
        return self._connections

    def _now(self) -> datetime:
        return _EPOCH + timedelta(microseconds=round(self._clock.wall() * 1e6))
