"""Writing a run's facts to a store that may fail, be slow, or belong to somebody else by now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from remit.kernel.facts import AnyFact, Ask, Asked, Finished, Paused, Stepped, decode
from remit.kernel.journal import StoredJournal
from remit.kernel.lease import Lease, LeaseLost
from remit.store.protocol import Store
from remit.store.records import Append, NewRun, Stopped
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import item
from remit.values import codec
from remit.values.errors import StoreError

When = Literal["before", "after"]


class EagerClock(ManualClock):
    """Its sleepers go on at once, and time moves by what they slept."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)


class Between:
    """A store in between: `around` is called with each append, in place of it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.batches: list[int] = []
        self.around: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]] = lambda go: go()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def append(self, batch: Sequence[Append]) -> Any:
        self.batches += [len(item.entries) for item in batch]
        return await self.around(lambda: self.store.append(batch))

    def fail(self, times: int, when: When) -> None:
        """Fail so many appends, before they are written or after."""
        left = [times]

        async def around(go: Callable[[], Awaitable[Any]]) -> Any:
            failing = left[0] > 0
            left[0] -= 1
            if failing and when == "before":
                raise StoreError(reason="the disk is away")
            outcome = await go()
            if failing:
                raise StoreError(reason="the answer got lost")
            return outcome

        self.around = around


@dataclass
class Held:
    """A claimed run's journal."""

    journal: StoredJournal
    store: Between
    lease: Lease
    clock: EagerClock
    told: list[tuple[int, AnyFact]] = field(default_factory=list)

    async def stored(self) -> list[AnyFact]:
        return [decode(entry.body) for entry in await self.store.read("run_1")]


ASKED = Asked(at=1, input="?")


def step(name: str) -> Stepped:
    return Stepped(at=2, name=name, value=name)


@asynccontextmanager
async def holding(store: Store) -> AsyncIterator[Held]:
    new = NewRun(id="run_1", program="toy@1", body=codec.encode(ASKED), format=codec.FORMAT)
    await store.create(new)
    await store.beat("w1", 20.0, join=True)
    (claim,) = await store.claim("w1", ["toy@1"], format=codec.FORMAT)
    clock, between = EagerClock(), Between(store)
    lease = Lease(clock, clock.steady() + 20)
    told: list[tuple[int, AnyFact]] = []
    async with asyncio.TaskGroup() as tasks:
        around: Any = between
        journal = StoredJournal(
            around, claim, lease, clock, tasks, lambda seq, body: told.append((seq, decode(body)))
        )
        yield Held(journal, between, lease, clock, told)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_append_whose_outcome_is_unknown_is_written_once(store: Store, when: When) -> None:
    async with holding(store) as held:
        held.store.fail(3, when)
        assert await held.journal.record(step("one"), step("two")) == 3
        assert await held.journal.record(step("three")) == 4
        assert await held.stored() == [ASKED, step("one"), step("two"), step("three")]
    assert [seq for seq, _ in held.told] == [2, 3, 4]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_end_whose_outcome_is_unknown_is_written_once(store: Store, when: When) -> None:
    last = Finished(at=9, status="succeeded", finish="answer")
    async with holding(store) as held:
        held.store.fail(2, when)
        assert await held.journal.finish(last)
        assert await held.stored() == [ASKED, last]


async def test_a_store_that_stays_away_is_given_up_with_the_lease(store: Store) -> None:
    async with holding(store) as held:
        held.store.fail(10_000, "before")
        with pytest.raises(LeaseLost):
            await held.journal.record(step("one"))
        assert await held.stored() == [ASKED]
    assert held.clock.steady() >= held.lease.deadline
    assert held.told == []


@pytest.mark.parametrize("goes_on", [False, True])
async def test_an_unknown_append_of_a_run_that_another_took_is_a_lost_lease(
    store: Store, clock: ManualClock, goes_on: bool
) -> None:
    async with holding(store) as held:

        async def taken(go: Callable[[], Awaitable[Any]]) -> Any:
            clock.advance(21)
            await store.sweep()
            await store.beat("w2", 20.0, join=True)
            (claim,) = await store.claim("w2", ["toy@1"], format=codec.FORMAT)
            if goes_on:
                await store.append([item(claim, codec.encode(step("other")))])
            raise StoreError(reason="the connection broke")

        held.store.around = taken
        with pytest.raises(LeaseLost):
            await held.journal.record(step("one"))
        assert step("one") not in await held.stored()


async def test_who_lost_the_run_writes_nothing(store: Store, clock: ManualClock) -> None:
    async with holding(store) as held:
        clock.advance(21)
        await store.sweep()
        with pytest.raises(LeaseLost):
            await held.journal.record(step("one"))
        with pytest.raises(LeaseLost):
            await held.journal.finish(Finished(at=9, status="failed"))
        assert await held.stored() == [ASKED]


async def test_one_append_is_in_flight_and_what_comes_meanwhile_shares_the_next(
    store: Store,
) -> None:
    entered, opened, now = asyncio.Event(), asyncio.Event(), 0
    async with holding(store) as held:

        async def slow(go: Callable[[], Awaitable[Any]]) -> Any:
            nonlocal now
            now += 1
            assert now == 1
            entered.set()
            await opened.wait()
            outcome = await go()
            now -= 1
            return outcome

        held.store.around = slow
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(held.journal.record(step("one")))
            await entered.wait()
            others = [
                tasks.create_task(held.journal.record(step(f"{n}a"), step(f"{n}b")))
                for n in range(3)
            ]
            await asyncio.sleep(0)
            assert held.told == []
            opened.set()
        assert first.result() == 2
        assert [other.result() for other in others] == [4, 6, 8]
        assert held.store.batches == [1, 6]
        facts = await held.stored()
    assert [fact for _, fact in held.told] == facts[1:]
    assert [seq for seq, _ in held.told] == list(range(2, 9))


async def test_who_waits_for_a_record_may_be_cancelled_and_the_write_may_not(
    store: Store,
) -> None:
    entered, opened = asyncio.Event(), asyncio.Event()
    async with holding(store) as held:

        async def slow(go: Callable[[], Awaitable[Any]]) -> Any:
            entered.set()
            await opened.wait()
            return await go()

        held.store.around = slow
        waiting = asyncio.ensure_future(held.journal.record(step("one")))
        await entered.wait()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        opened.set()
        last = Finished(at=9, status="cancelled")
        assert await held.journal.finish(last)
        assert await held.stored() == [ASKED, step("one"), last]
    assert [seq for seq, _ in held.told] == [2, 3]


async def test_no_end_is_written_over_news_that_nobody_looked_at(store: Store) -> None:
    last = Finished(at=9, status="succeeded", finish="answer")
    async with holding(store) as held:
        await store.cancel("run_1", b"end", codec.FORMAT, b"signal")
        assert not await held.journal.finish(last)
        assert held.journal.inbox == 1
        assert await held.stored() == [ASKED]
        held.journal.seen = held.journal.inbox
        assert await held.journal.finish(last)


async def test_news_is_told_with_the_next_append(store: Store) -> None:
    heard: list[int] = []
    async with holding(store) as held:
        held.journal.on_news = lambda: heard.append(held.journal.inbox)
        await held.journal.record(step("one"))
        assert heard == []
        await store.cancel("run_1", b"end", codec.FORMAT, b"signal")
        await held.journal.record(step("two"))
        await held.journal.record(step("three"))
    assert heard == [1]


async def test_a_pause_without_a_holder_can_be_ended_by_anybody(store: Store) -> None:
    async with holding(store) as held:
        assert await held.journal.pause(Paused(at=3, asks=(Ask("q", None),)))
        body = codec.encode(Finished(at=9, status="cancelled"))
        assert await store.cancel("run_1", body, codec.FORMAT, b"") == Stopped(3)


async def test_a_fact_that_cannot_be_written_harms_no_other(store: Store) -> None:
    bad = Stepped(at=2, name="bad", value=object())
    async with holding(store) as held:
        good, worse = await asyncio.gather(
            held.journal.record(step("one")), held.journal.record(bad), return_exceptions=True
        )
        assert good == 2
        assert isinstance(worse, TypeError)
        assert await held.journal.record(step("two")) == 3
        assert await held.stored() == [ASKED, step("one"), step("two")]
