"""A step recorded in a transaction is alone in its append, and made no oftener than needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from remit.errors import EffectError, StoreError
from remit.kernel.facts import Stepped, decode
from remit.kernel.journal import StoredJournal
from remit.kernel.lease import Lease, LeaseLost
from remit.store.memory import MemoryStore
from remit.store.records import Append, Appended, Fenced, NewRun
from remit.testing.clock import ManualClock


class Transacting:
    """A store in memory with transactions, which a test can hold or fail."""

    def __init__(self, clock: ManualClock) -> None:
        self.store = MemoryStore(clock)
        self.held: asyncio.Event | None = None
        self.failures: list[StoreError] = []
        self.entered = asyncio.Event()
        self.appends: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def append(self, batch: list[Append]) -> Any:
        self.appends.append(sum(len(item.entries) for item in batch))
        return await self.store.append(batch)

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced:
        self.entered.set()
        if self.held is not None:
            await self.held.wait()
        bodies = work("tx")
        if self.failures:
            raise self.failures.pop(0)
        whole = Append(
            run=item.run, token=item.token, seq=item.seq, entries=bodies, format=item.format
        )
        (outcome,) = await self.store.append([whole])
        assert isinstance(outcome, Appended | Fenced)
        return outcome


class Bench:
    """A journal on such a store."""

    def __init__(self, store: Transacting, journal: StoredJournal, clock: ManualClock) -> None:
        self.store, self.journal, self.clock = store, journal, clock
        self.made = self.stopped = 0
        self.learned: list[tuple[int, str]] = []

    async def transact(self, name: str, error: Exception | None = None) -> None:
        def make(tx: Any) -> Stepped:
            self.made += 1
            if error is not None:
                raise error
            return step(name)

        def stop() -> None:
            self.stopped += 1
            if self.store.held is not None:
                self.store.held.set()

        await self.journal.transact(make, stop, lambda seq, fact: self.learn(seq, fact))

    def learn(self, seq: int, fact: Stepped) -> None:
        self.learned.append((seq, fact.name))

    async def names(self) -> list[str]:
        found = [decode(entry.body) for entry in await self.store.read("r", 1)]
        return [fact.name for fact in found if isinstance(fact, Stepped)]


def step(name: str) -> Stepped:
    return Stepped(name=name, value=None, at=0)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    clock = ManualClock()
    store: Any = Transacting(clock)
    await store.create(NewRun(id="r", program="p@1", body=b"{}", format=1))
    await store.beat("w", 1000.0, join=True)
    (claim,) = await store.claim("w", ["p@1"], format=2)
    async with asyncio.TaskGroup() as tasks:
        journal = StoredJournal(store, claim, Lease(clock), clock, tasks, lambda seq, body: None)
        yield Bench(store, journal, clock)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_comes_meanwhile_is_recorded_after_it(bench: Bench) -> None:
    bench.store.held = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(bench.transact("a"))
        await bench.store.entered.wait()
        tasks.create_task(bench.journal.record(step("b")))
        tasks.create_task(bench.transact("c"))
        tasks.create_task(bench.journal.record(step("d")))
        await turns()
        assert await bench.names() == []
        bench.store.held.set()
    assert await bench.names() == ["a", "b", "d", "c"]
    assert bench.learned == [(2, "a"), (5, "c")]
    assert bench.store.appends == [2]


async def test_what_it_raises_is_raised_and_the_journal_goes_on(bench: Bench) -> None:
    with pytest.raises(ZeroDivisionError):
        await bench.transact("a", ZeroDivisionError())
    await bench.journal.record(step("b"))
    assert (await bench.names(), bench.made, bench.learned) == (["b"], 1, [])


async def test_an_error_of_the_stores_kind_that_it_raises_is_no_failure_of_the_store(
    bench: Bench,
) -> None:
    with pytest.raises(StoreError, match="mine"):
        await bench.transact("a", StoreError(reason="mine"))
    assert bench.made == 1


async def test_one_that_is_cancelled_in_the_middle_is_told_to_stop_and_is_known_if_it_was_stored(
    bench: Bench,
) -> None:
    bench.store.held = asyncio.Event()
    task = asyncio.ensure_future(bench.transact("a"))
    await bench.store.entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (bench.stopped, bench.learned) == (1, [(2, "a")])
    await bench.journal.record(step("b"))
    assert await bench.names() == ["a", "b"]


async def test_one_that_is_cancelled_while_it_waits_for_its_turn_takes_nobody_elses(
    bench: Bench,
) -> None:
    bench.store.held = asyncio.Event()
    first, second, third = (asyncio.ensure_future(bench.transact(name)) for name in "abc")
    await bench.store.entered.wait()
    await turns()
    second.cancel()
    bench.store.held.set()
    await asyncio.wait_for(asyncio.gather(first, third), 5)
    assert (await bench.names(), bench.stopped) == (["a", "c"], 0)


async def passing(bench: Bench, wanted: asyncio.Future[None]) -> None:
    while not wanted.done():
        bench.clock.advance(1)
        await asyncio.sleep(0)
    await wanted


async def test_it_is_made_again_after_a_failure_and_not_for_ever(bench: Bench) -> None:
    bench.store.failures = [StoreError(reason="away")]
    await passing(bench, asyncio.ensure_future(bench.transact("a")))
    assert (bench.made, await bench.names()) == (2, ["a"])
    bench.store.failures = [StoreError(reason="away")] * 9
    with pytest.raises(StoreError, match="away"):
        await passing(bench, asyncio.ensure_future(bench.transact("b")))
    assert (bench.made, await bench.names()) == (5, ["a"])
    await bench.journal.record(step("c"))


async def test_one_that_broke_the_rules_is_not_made_again(bench: Bench) -> None:
    bench.store.failures = [EffectError(reason="it committed")]
    with pytest.raises(EffectError, match="it committed"):
        await passing(bench, asyncio.ensure_future(bench.transact("a")))
    assert bench.made == 1


async def test_a_lost_lease_writes_nothing_and_says_so(bench: Bench) -> None:
    await bench.store.release("w", "r", 1)
    with pytest.raises(LeaseLost):
        await bench.transact("a")
    assert (await bench.names(), bench.learned) == ([], [])
    with pytest.raises(LeaseLost):
        await bench.journal.record(step("b"))
