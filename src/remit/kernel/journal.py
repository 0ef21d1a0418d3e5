"""Writing facts: one append of a run in flight at a time, published once it is stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from remit.kernel.facts import AnyFact, Fact
from remit.kernel.lease import Lease, LeaseLost
from remit.kernel.tasks import spawn
from remit.store.protocol import Store
from remit.store.records import Append, Appended, Claim, Fenced, News, Status
from remit.values import codec
from remit.values.clock import Clock
from remit.values.errors import StoreError

_log = logging.getLogger("remit.kernel")
_RETRY_SECONDS = 0.05

Publish = Callable[[int, AnyFact], None]
Announce = Callable[[int], None]


class Journal(Protocol):
    """Where a run's facts go."""

    seq: int
    """The last sequence number."""

    async def record(self, *facts: Fact) -> int:
        """Store `facts`, in order, and give back the last one's sequence number."""
        ...


class UnkeptJournal:
    """A journal that numbers and publishes facts, and keeps none."""

    def __init__(self, publish: Publish) -> None:
        self.seq = 0
        self._publish = publish

    async def record(self, *facts: Fact) -> int:
        for fact in facts:
            self.seq += 1
            self._publish(self.seq, fact)  # type: ignore[arg-type]  # each Fact is one of AnyFact
        return self.seq


class StoredJournal:
    """A claimed run's journal in the store. Facts that come while an append is in flight share
    the next one, so that parallel results cannot look like a lost lease to each other."""

    def __init__(
        self,
        store: Store,
        claim: Claim,
        lease: Lease,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        publish: Publish,
    ) -> None:
        self.seq = claim.seq
        self.inbox = claim.inbox
        self.seen = claim.inbox
        self._store, self._claim, self._lease, self._clock = store, claim, lease, clock
        self._tasks, self._publish = tasks, publish
        self._waiting: list[tuple[Sequence[Fact], asyncio.Future[int]]] = []
        self._writer: asyncio.Task[None] | None = None
        self.on_news: Callable[[], None] = lambda: None

    async def record(self, *facts: Fact) -> int:
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((facts, done))
        if self._writer is None:
            # A task of its own: who waits for a record may be cancelled, the write may not.
            self._writer = spawn(self._tasks, self._write())
        return await done

    async def close(self, fact: Fact, status: Status, asks: Sequence[str] = ()) -> bool:
        """Store `fact` and the run's next status; False if news came that must be looked at."""
        if self._writer is not None:
            await asyncio.wait([self._writer])
        outcome = await self._append([fact], status, asks)
        if isinstance(outcome, News):
            self.inbox = outcome.inbox
            return False
        if isinstance(outcome, Fenced):
            raise LeaseLost
        self._stored([fact], outcome)
        return True

    async def _write(self) -> None:
        batch: list[tuple[Sequence[Fact], asyncio.Future[int]]] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                facts = [fact for part, _ in batch for fact in part]
                outcome = await self._append(facts)
                if not isinstance(outcome, Appended):
                    raise LeaseLost
                seq = self.seq
                self._stored(facts, outcome)
                for part, done in batch:
                    seq += len(part)
                    if not done.done():
                        done.set_result(seq)
                batch = []
        except BaseException as error:
            failed, self._waiting = [*batch, *self._waiting], []
            for _, done in failed:
                if not done.done():
                    done.set_exception(LeaseLost() if _is_final(error) else error)
                    done.exception()
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._writer = None

    def _stored(self, facts: Sequence[Fact], outcome: Appended) -> None:
        for seq, fact in enumerate(facts, self.seq + 1):
            self._publish(seq, fact)  # type: ignore[arg-type]  # each Fact is one of AnyFact
        self.seq = outcome.seq
        if outcome.inbox > self.inbox:
            self.inbox = outcome.inbox
            self.on_news()

    async def _append(
        self, facts: Sequence[Fact], status: Status | None = None, asks: Sequence[str] = ()
    ) -> Appended | Fenced | News:
        item = Append(
            run=self._claim.run,
            token=self._claim.token,
            seq=self.seq,
            entries=tuple(codec.encode(fact) for fact in facts),
            format=codec.FORMAT,
            status=status,
            seen=self.seen,
            asks=tuple(asks),
        )
        while True:
            try:
                return (await self._store.append([item]))[0]
            except StoreError as error:
                _log.warning("append to run %s failed, trying again: %s", item.run, error)
                await self._clock.sleep(_RETRY_SECONDS)
                self._lease.check()
                stored = await self._stored_after_all(item)
                if stored is not None:
                    return stored

    async def _stored_after_all(self, item: Append) -> Appended | Fenced | None:
        """What became of an append whose outcome is unknown; None if nothing was written."""
        try:
            row = await self._store.get(item.run)
        except StoreError:
            return None
        if row is None or row.token != item.token:
            return Fenced()
        if row.seq == item.seq:
            return None
        return Appended(item.seq + len(item.entries), self.inbox)


def _is_final(error: BaseException) -> bool:
    return isinstance(error, LeaseLost | asyncio.CancelledError)
