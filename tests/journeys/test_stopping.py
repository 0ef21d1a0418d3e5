"""Stopping a run: an accepted cancel ends cancelled and leaving ends nothing, whatever a program
makes of being stopped, and whatever the store does meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from remit.errors import ProviderError, StoreError
from remit.kernel.facts import Ask, Finished, Stepped
from remit.kernel.interrupt import Answer
from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.protocol import Store
from remit.store.records import (
    Busy,
    Created,
    Delivered,
    Existing,
    Head,
    NewRun,
    Sent,
    Signal,
    Undelivered,
)
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.values import codec
from tests.journeys.clerk import pass_time
from tests.journeys.host import DONE, hosting

T = TypeVar("T")

QUICK = LeaseTerms(grace=timedelta(seconds=0.05))


class Flaky(CrashStore):
    """Fails the next reads of one kind."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, at=None)
        self.signals_fail = self.heads_fail = 0
        self.failed = asyncio.Event()

    async def signals(self, run: str) -> Sequence[Signal]:
        if self.signals_fail:
            self.signals_fail -= 1
            self.failed.set()
            raise StoreError(reason="for a moment")
        return await super().signals(run)

    async def heads(self, runs: object) -> dict[str, Head]:
        if self.heads_fail:
            self.heads_fail -= 1
            raise StoreError(reason="for a moment")
        return dict(await super().heads(runs))  # type: ignore[arg-type]  # handed on


async def test_a_cancelled_run_that_is_given_up_ends_cancelled(
    store: Store, clock: ManualClock
) -> None:
    async def program(run: ActiveRun) -> Outcome:
        raise AssertionError("it is given up")

    async with hosting(store, clock, program, work=False) as host:
        run = await host.start()
        for number in range(3):
            await store.beat(f"dead{number}", 20.0, join=True)
            assert await store.claim(f"dead{number}", ["toy@1"], format=1)
            if number == 2:
                assert await host.client.cancel(run, None, None) == "running"
            clock.advance(21)
            await store.sweep()
    async with hosting(store, clock, program) as host:
        assert (await host.settled(run)).status == "cancelled"


async def test_leaving_is_no_failure_whatever_the_program_raises(
    store: Store, clock: ManualClock
) -> None:
    began = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ProviderError(message="the stream was cut") from None
        return DONE

    async with hosting(store, clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
    row = await store.get(run)
    assert row is not None
    assert (row.status, row.deaths) == ("queued", 0)


async def test_a_swallowed_cancel_starts_no_further_step(store: Store, clock: ManualClock) -> None:
    began, made = asyncio.Event(), []

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

        async def pay() -> int:
            made.append("paid")
            return 1

        await run.step("pay", pay, int)
        return DONE

    async with hosting(store, clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
        await host.client.cancel(run, None, None)
        assert (await host.settled(run)).status == "cancelled"
    assert made == []


@pytest.mark.slow
async def test_a_program_that_never_stops_is_left_for_good(
    store: Store, clock: ManualClock
) -> None:
    began = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async with hosting(store, clock, program, terms=QUICK) as host:
        run, other = await host.start(), await host.start()
        await asyncio.wait_for(began.wait(), 5)
        await host.client.cancel(run, None, None)
        assert (await host.settled(run)).status == "cancelled"
    row = await store.get(other)
    assert row is not None
    assert row.status == "queued"


async def test_a_cancel_whose_look_failed_is_seen_at_the_next_renewal(
    store: Store, clock: ManualClock
) -> None:
    began, flaky = asyncio.Event(), Flaky(store)

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        await asyncio.Event().wait()
        return DONE

    async with hosting(flaky, clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
        flaky.signals_fail = 1
        await host.client.cancel(run, None, None)
        await asyncio.wait_for(flaky.failed.wait(), 5)
        clock.advance(5)
        assert (await host.settled(run)).status == "cancelled"


async def test_a_reader_elsewhere_outlives_a_store_that_fails_for_a_moment(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    go, flaky = asyncio.Event(), Flaky(other_store)

    async def program(run: ActiveRun) -> Outcome:
        await go.wait()
        return DONE

    async with (
        hosting(store, clock, program) as host,
        hosting(flaky, clock, program, work=False) as reader,
    ):
        run = await host.start()
        reading = asyncio.create_task(reader.settled(run))
        await asyncio.sleep(0.05)
        flaky.heads_fail = 3
        go.set()
        while not reading.done():
            clock.advance(1)
            await asyncio.sleep(0.005)
        assert (await reading).status == "succeeded"


async def test_a_lapsed_lease_writes_nothing_even_before_a_sweep(
    store: Store, clock: ManualClock
) -> None:
    stuck, go = asyncio.Event(), asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        async def slow() -> int:
            stuck.set()
            await go.wait()
            return 1

        await run.step("slow", slow, int)
        return DONE

    terms = LeaseTerms(renew_every=timedelta(seconds=10), sweep_every=timedelta(hours=1))
    async with hosting(store, clock, program, terms=terms) as host:
        run = await host.start()
        await asyncio.wait_for(stuck.wait(), 5)
        clock._steady += 21  # no sleeper wakes: the loop was stuck
        go.set()
        for _ in range(20):
            await asyncio.sleep(0.001)
        row = await store.get(run)
        assert row is not None
        assert (row.status, row.seq) == ("running", 1)


async def test_a_journal_that_cannot_be_read_ends_its_run(store: Store, clock: ManualClock) -> None:
    await store.create(NewRun(id="run_x", program="toy@1", body=b"{not json", format=1))

    async def program(run: ActiveRun) -> Outcome:
        raise AssertionError("it is not driven")

    async with hosting(store, clock, program) as host:
        assert (await host.settled("run_x")).status == "failed"
        last = (await host.facts("run_x"))[-1]
    assert isinstance(last, Finished)


class Unknown(CrashStore):
    """Tells nothing of the first `create` and of the first `deliver`: they are not carried out,
    or are without its being known."""

    def __init__(self, store: Store, when: str) -> None:
        super().__init__(store, at=None)
        self._told_after = when == "after"
        self.tries: Counter[str] = Counter()

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        return await self._told("create", lambda: super(Unknown, self).create(new))

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        return await self._told("deliver", lambda: super(Unknown, self).deliver(run, answers, id))

    async def _told(self, name: str, write: Callable[[], Awaitable[T]]) -> T:
        self.tries[name] += 1
        if self.tries[name] > 1:
            return await write()
        if self._told_after:
            await write()
        raise StoreError(reason="for a moment")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_start_and_an_answer_whose_outcome_is_unknown_are_made_once(
    store: Store, clock: ManualClock, when: str
) -> None:
    unknown = Unknown(store, when)

    async def program(run: ActiveRun) -> Outcome:
        answer = run.answer("q")
        if answer is None:
            run.pause([Ask("q", "may I?")])
        return Outcome(status="succeeded", finish="answer", output=answer.value)

    async def patiently(asked: Awaitable[T]) -> T:
        """The client's pauses between its tries are the clock's."""
        asking = asyncio.ensure_future(asked)
        while not asking.done():
            await pass_time(clock, 0.5)
        return await asking

    async with hosting(unknown, clock, program) as host:
        run = await patiently(host.start(thread="t"))
        assert (await host.settled(run)).status == "paused"
        answer = Answer(value="yes", by=None, at=5)
        assert await patiently(host.client.answer(run, {"q": answer})) == 0
        assert (await host.settled(run)).status == "succeeded"
    assert unknown.tries == {"create": 2, "deliver": 2}


async def test_a_step_whose_record_was_under_way_when_it_was_cut_is_not_made_again(
    store: Store, clock: ManualClock
) -> None:
    """The drive's own time ends while the record is written, and news bring the program back."""
    writing, go_on, made = asyncio.Event(), asyncio.Event(), []

    class Slow(CrashStore):
        async def append(self, batch: Any) -> Any:
            stored = await super().append(batch)
            if not writing.is_set():
                writing.set()
                await go_on.wait()
            return stored

    async def make() -> int:
        made.append(1)
        return len(made)

    async def program(run: ActiveRun) -> Outcome:
        if writing.is_set():
            await run.step("one", make, int)
        else:
            step = asyncio.ensure_future(run.step("one", make, int))
            await writing.wait()
            step.cancel()
            await asyncio.wait([step])
        return Outcome(status="succeeded", output=len(made))

    async with hosting(Slow(store, at=None), clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(writing.wait(), 10)
        assert await store.send(run, codec.encode(Answer(value="x", by=None, at=1)), "m") == Sent()
        go_on.set()
        assert (await host.settled(run)).status == "succeeded"
        facts = await host.facts(run)
    names = [fact.name for fact in facts if isinstance(fact, Stepped)]
    assert (names, made) == (["one"], [1])
