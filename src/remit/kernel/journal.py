"""Writing facts: one append of a run in flight at a time, published once it is stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from remit.kernel.facts import AnyFact, Finished, Paused, Stepped, decode
from remit.kernel.lease import Lease, LeaseLost
from remit.kernel.part import Hear, Part, together, unheard
from remit.kernel.tasks import spawn
from remit.kernel.work import STEP_FORMAT, Make, Raised, Work
from remit.store.protocol import Store
from remit.store.records import Append, Appended, Claim, Fenced, News
from remit.values.clock import Clock
from remit.values.errors import EffectError, LetGo, StoreError

_log = logging.getLogger("remit.kernel")
_RETRY_SECONDS = 0.05
_TRIES = 3

Publish = Callable[[int, AnyFact], None]
PublishBody = Callable[[int, bytes], None]
"""Readers get the body: a value of their own, which they cannot change for the run."""
Learn = Callable[[int, Stepped], None]
Transact = Callable[[Make, Callable[[], None], Learn], Awaitable[None]]
"""`StoredJournal.transact`."""


class Journal(Protocol):
    """Where a run's facts go."""

    seq: int
    """The last sequence number."""

    async def record(self, *facts: AnyFact, hear: Hear = ..., by: str | None = None) -> int:
        """Store `facts`, in order, and what they tell of money; give back the last one's sequence
        number. `by` is the name of who called a model, None for the run's own program."""
        ...


class UnkeptJournal:
    """A journal that numbers facts, publishes them where somebody reads along, and keeps none."""

    def __init__(self, publish: Publish | None = None) -> None:
        self.seq = 0
        self._publish = publish

    async def record(self, *facts: AnyFact, hear: Hear = unheard, by: str | None = None) -> int:
        for fact in facts:
            self.seq += 1
            hear(self.seq, fact)
            if self._publish is not None:
                self._publish(self.seq, fact)
        return self.seq


_Waiting = tuple[Part, asyncio.Future[int]]


def _tell(batch: Sequence[_Waiting], seq: int) -> None:
    """Give who waits its last sequence number, where `seq` is the one before the batch."""
    for part, done in batch:
        seq += len(part.facts)
        if not done.done():
            done.set_result(seq)


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
        publish: PublishBody,
    ) -> None:
        self.seq = claim.seq
        self.inbox = claim.inbox
        self.seen = 0
        self._store, self._claim, self._lease, self._clock = store, claim, lease, clock
        self._tasks, self._publish = tasks, publish
        self._waiting: list[_Waiting] = []
        self._busy = self._failed = False
        self._writer: asyncio.Task[None] | None = None
        self._turns: list[asyncio.Future[None]] = []
        self.on_news: Callable[[], None] = _unheard

    async def record(self, *facts: AnyFact, hear: Hear = unheard, by: str | None = None) -> int:
        part = Part.of(facts, hear, by)
        if self._busy:
            done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._waiting.append((part, done))
            return await done
        self._check()
        self._busy = True
        item = self._item(part)
        try:
            self._stored(part, (await self._store.append([item]))[0])
        except StoreError as error:
            _log.warning("append to run %s failed, trying again: %s", item.run, error)
            return await self._hand_over(part, item)
        except asyncio.CancelledError:
            # Who waits for a record may be cancelled, the write may not.
            self._hand_over(part, item)
            raise
        except BaseException as error:
            self._fail([], error)
            raise
        seq = self.seq
        if self._waiting:
            self._go_on(self._write())
        else:
            self._busy = False
            if self._turns:
                self._next_turn()
        return seq

    async def transact(self, make: Make, stop: Callable[[], None], learn: Learn) -> None:
        """Store the step that `make` gives for a transaction of the store's, and what `make` did
        in that transaction, as one commit.

        It is alone in its append. What `make` raises is raised and nothing stays; `make` is
        called again only where nothing was stored. `learn` is told of the step as soon as it is
        stored. When this is cancelled `stop` is called, and what comes of it is waited for.
        """
        while self._busy:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._turns.append(turn)
            await turn
        self._check()
        self._busy = True
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._go_on(self._transact(make, learn, done))
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError:
            stop()
            await asyncio.wait([done])
            raise
        done.result()

    async def pause(self, fact: Paused) -> bool:
        """Store `fact`, and let go of the run; False if news came that must be looked at."""
        return await self._close(fact, _pause(fact))

    async def finish(self, fact: Finished) -> bool:
        """Store the run's last fact; False if news came that must be looked at."""
        return await self._close(fact, {"status": fact.status})

    async def _close(self, fact: Paused | Finished, change: Mapping[str, Any]) -> bool:
        if self._writer is not None:
            await asyncio.wait([self._writer])
        self._check()
        part = Part.of([fact])
        outcome = await self._append(replace(self._item(part), **change))
        if isinstance(outcome, News):
            self.inbox = outcome.inbox
            return False
        self._stored(part, outcome)
        return True

    def forget(self) -> None:
        """Tell nobody anything any more."""
        self._publish = _untold
        self.on_news = _unheard

    def _check(self) -> None:
        """Raise LeaseLost where nothing may be written any more: the lease is over, or an
        earlier record could not be stored, without which a later one would be a lie."""
        self._lease.check()
        if self._failed:
            raise LeaseLost

    def _hand_over(self, part: Part, item: Append) -> asyncio.Future[int]:
        """Leave an append whose outcome is unknown to a task that finds it out."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._go_on(self._write((part, done), item))
        return done

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._writer = spawn(self._tasks, work)
        except LetGo as error:
            self._fail([], error)
            raise

    async def _write(self, begun: _Waiting | None = None, item: Append | None = None) -> None:
        """Store what waits, as long as something does; before it what was begun."""
        batch: list[_Waiting] = []
        try:
            if begun is not None and item is not None:
                batch = [begun]
                self._stored(begun[0], await self._append_again(item))
                _tell(batch, item.seq)
            while self._waiting:
                batch, self._waiting = self._waiting, []
                whole = together([part for part, _ in batch])
                seq = self.seq
                self._stored(whole, await self._append(self._item(whole)))
                _tell(batch, seq)
        except BaseException as error:
            self._fail(batch, error)
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._busy = False
            self._writer = None
            self._next_turn()

    def _next_turn(self) -> None:
        """Let those who want to be alone in an append see whether they can be."""
        turns, self._turns = self._turns, []
        for turn in turns:
            if not turn.done():
                turn.set_result(None)

    async def _transact(self, make: Make, learn: Learn, done: asyncio.Future[None]) -> None:
        try:
            fact = await self._transacted(Work(make))
            learn(self.seq, fact)
            done.set_result(None)
        except Raised as raised:
            done.set_exception(raised.error)
        except BaseException as error:
            cut = isinstance(error, asyncio.CancelledError)
            done.set_exception(LeaseLost() if cut else error)
            self._fail([], error)
            if cut:
                raise
        finally:
            # Who would be told of it may be gone.
            done.exception()
            if self._waiting:
                await self._write()
            self._busy, self._writer = False, None
            self._next_turn()

    async def _transacted(self, work: Work) -> Stepped:
        """Store what `work` makes, and find out what became of it where that is unknown. `work`
        is not done again for ever: what stands in its way may lie in itself."""
        item, failure = self._item(Part((), (), STEP_FORMAT)), None
        transact = self._store.transact  # type: ignore[attr-defined]  # a store that can
        while True:
            try:
                if failure is not None:
                    stored = await self._made_after_all(item)
                    if stored is not None:
                        return stored
                    if work.calls >= _TRIES or isinstance(failure, EffectError):
                        raise Raised(failure)
                outcome = await transact(item, work)
                if isinstance(outcome, Appended) and work.fact is not None:
                    self._stored(Part.of([work.fact]), outcome)
                    return work.fact
                stored = await self._made_after_all(item) if failure else None
                if stored is None:
                    raise LeaseLost
                return stored
            except StoreError as error:
                _log.warning("a transaction of run %s failed, trying again: %s", item.run, error)
                failure = error
            await self._clock.sleep(_RETRY_SECONDS)
            self._lease.check()

    async def _made_after_all(self, item: Append) -> Stepped | None:
        """The step that a transaction whose outcome is unknown has stored; None if it did not."""
        if await self._stored_after_all(item) is None:
            return None
        entries = await self._store.read(item.run, item.seq)
        fact = decode(entries[0].body) if entries else None
        if not isinstance(fact, Stepped) or entries[0].token != item.token:
            raise LeaseLost
        part = Part([fact], (entries[0].body,), entries[0].format)
        self._stored(part, Appended(entries[0].seq, self.inbox))
        return fact

    def _fail(self, begun: Sequence[_Waiting], error: BaseException) -> None:
        """Nothing more can be recorded: tell all who wait."""
        failed, self._waiting = [*begun, *self._waiting], []
        self._busy = False
        self._failed = True
        cut = isinstance(error, asyncio.CancelledError)
        for _, done in failed:
            if not done.done():
                done.set_exception(LeaseLost() if cut else error)
                done.exception()

    def _stored(self, part: Part, outcome: Appended | Fenced | News) -> None:
        if not isinstance(outcome, Appended):
            raise LeaseLost
        seq = self.seq
        for fact, body in zip(part.facts, part.bodies, strict=True):
            seq += 1
            part.hear(seq, fact)
            self._publish(seq, body)
        self.seq = outcome.seq
        if outcome.inbox > self.inbox:
            self.inbox = outcome.inbox
            self.on_news()

    def _item(self, part: Part) -> Append:
        return Append(
            run=self._claim.run,
            token=self._claim.token,
            seq=self.seq,
            entries=part.bodies,
            format=part.format,
            seen=self.seen,
            settles=part.settles,
        )

    async def _append(self, item: Append) -> Appended | Fenced | News:
        try:
            return (await self._store.append([item]))[0]
        except StoreError as error:
            _log.warning("append to run %s failed, trying again: %s", item.run, error)
            return await self._append_again(item)

    async def _append_again(self, item: Append) -> Appended | Fenced | News:
        """Find out what became of an append whose outcome is unknown, and repeat it if nothing
        did. The first may still be on its way: it then refuses the second, and is what counts."""
        while True:
            try:
                stored = await self._stored_after_all(item)
                if stored is not None:
                    return stored
                outcome = (await self._store.append([item]))[0]
                if isinstance(outcome, Appended):
                    return outcome
                return await self._stored_after_all(item) or outcome
            except StoreError as error:
                _log.warning("append to run %s failed, trying again: %s", item.run, error)
            await self._clock.sleep(_RETRY_SECONDS)
            self._lease.check()

    async def _stored_after_all(self, item: Append) -> Appended | Fenced | None:
        """What became of an append whose outcome is unknown; None if nothing was written."""
        row = await self._store.get(item.run)
        if row is None or row.token != item.token:
            return Fenced()
        if row.seq == item.seq:
            return None
        return Appended(item.seq + len(item.entries), self.inbox)


def _untold(seq: int, body: bytes) -> None:
    """Nobody reads along."""


def _unheard() -> None:
    """Nobody waits for news."""


def _pause(fact: Paused) -> dict[str, Any]:
    """What a pause asks of the store. Facts tell milliseconds, and the store microseconds."""
    return {
        "status": "paused",
        "asks": tuple([ask.key for ask in fact.asks]),
        "due": None if fact.due is None else fact.due * 1000,
        "listens": fact.listens,
    }
