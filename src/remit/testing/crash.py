"""A store that dies: what a process leaves behind when it is killed at a given write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

from remit.store.money import LedgerQuery, LedgerSum, Meter, MeterState
from remit.store.protocol import Heart, Store
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

T = TypeVar("T")


class Crash(BaseException):
    """The process is dead: nothing of it may go on, and nothing of it reaches the store."""


class _Heart:
    """A heart that stops with its process; in its thread a `Crash` would reach nobody."""

    def __init__(self, process: CrashStore, heart: Heart) -> None:
        self._process = process
        self._heart = heart

    def beat(self, worker: str, lasts: float) -> bool:
        return not self._process.dead and self._heart.beat(worker, lasts)

    def close(self) -> None:
        self._heart.close()


class CrashStore:
    """Hands every call to `store`, and dies at the `at`-th write, before or after it is done.

    Writes are `create`, `claim`, `append`, `release`, `deliver`, `send`, `cancel`, `sweep`,
    `delete_before`, `forget` and, where the store has it, `transact`, counted from 1, also where
    they find nothing to do; heartbeats are not counted. From the death on every call raises
    `Crash`, and so do `wakeups` when they next ring; a `heart` renews nothing more. With
    `at=None` it never dies: `writes` then tells how many there were, so that a dry run can count
    them.
    """

    def __init__(
        self, store: Store, *, at: int | None, when: Literal["before", "after"] = "before"
    ) -> None:
        self._store = store
        self._at = at
        self._when = when
        self.writes = 0
        self.dead = False

    async def open(self) -> None:
        await self._read(self._store.open)

    async def close(self) -> None:
        await self._read(self._store.close)

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        return await self._write(lambda: self._store.create(new))

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
        return await self._write(
            lambda: self._store.claim(
                worker, programs, format=format, room=room, run=run, deploy=deploy
            )
        )

    async def next_due(self, programs: Collection[str]) -> float | None:
        return await self._read(lambda: self._store.next_due(programs))

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        return await self._read(lambda: self._store.beat(worker, lasts, join=join))

    def heart(self) -> Heart:
        return _Heart(self, self._store.heart())

    async def release(
        self,
        worker: str,
        run: str,
        token: int,
        *,
        abandoned: bool = False,
        refusal: Refusal | None = None,
    ) -> bool:
        return await self._write(
            lambda: self._store.release(worker, run, token, abandoned=abandoned, refusal=refusal)
        )

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        return await self._write(lambda: self._store.append(batch))

    @property
    def transacts(self) -> Literal["sync", "async"] | None:
        """How the store behind it runs work in its transactions; None where it has none."""
        return getattr(self._store, "transacts", None)

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced | News:
        return await self._write(
            lambda: self._store.transact(item, work)  # type: ignore[attr-defined]  # where it can
        )

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        return await self._read(lambda: self._store.read(run, after))

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        return await self._read(lambda: self._store.lineage(run))

    async def get(self, run: str) -> RunRow | None:
        return await self._read(lambda: self._store.get(run))

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        return await self._read(lambda: self._store.heads(runs))

    async def find(self, query: Query) -> Sequence[RunRow]:
        return await self._read(lambda: self._store.find(query))

    async def thread_head(self, thread: str) -> str | None:
        return await self._read(lambda: self._store.thread_head(thread))

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        return await self._write(lambda: self._store.deliver(run, answers, id))

    async def send(self, run: str, body: bytes, id: str) -> Sent | Over:
        return await self._write(lambda: self._store.send(run, body, id))

    async def signals(self, run: str) -> Sequence[Signal]:
        return await self._read(lambda: self._store.signals(run))

    async def cancel(
        self, run: str, body: bytes, format: int, signal: bytes
    ) -> Stopped | Signalled | Over:
        return await self._write(lambda: self._store.cancel(run, body, format, signal))

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        return await self._write(lambda: self._store.sweep(limit))

    async def meters(self, meters: Sequence[Meter]) -> Sequence[MeterState]:
        return await self._read(lambda: self._store.meters(meters))

    async def usage(self, query: LedgerQuery) -> Sequence[LedgerSum]:
        return await self._read(lambda: self._store.usage(query))

    async def delete_before(self, when: int, limit: int = 500) -> int:
        return await self._write(lambda: self._store.delete_before(when, limit))

    async def forget(self, user: str, tenant: str | None, limit: int = 500) -> int:
        return await self._write(lambda: self._store.forget(user, tenant, limit))

    def wakeups(self) -> AsyncIterator[None]:
        self._live()
        return self._wakeups(self._store.wakeups())

    async def _wakeups(self, wakeups: AsyncIterator[None]) -> AsyncIterator[None]:
        self._live()
        async for _ in wakeups:
            self._live()
            yield

    async def _write(self, call: Callable[[], Awaitable[T]]) -> T:
        self._live()
        self.writes += 1
        last = self.writes == self._at
        if last and self._when == "before":
            self.dead = True
        self._live()
        outcome = await call()
        if last:
            self.dead = True
        self._live()
        return outcome

    async def _read(self, call: Callable[[], Awaitable[T]]) -> T:
        self._live()
        outcome = await call()
        self._live()
        return outcome

    def _live(self) -> None:
        """Nothing goes out to the store, or comes back from it, once the process is dead."""
        if self.dead:
            raise Crash(f"died {self._when} write {self._at}")
