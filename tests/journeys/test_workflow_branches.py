"""Branches of workflows: side by side, ended together, and each with a run of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remit import WorkflowRun, workflow
from remit.errors import ConfigError, StepFailedError
from remit.kernel.lease import LeaseTerms
from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.values.clock import SystemClock
from tests.journeys.flows import STAFF, hosting


async def test_the_first_failure_by_order_is_raised_when_all_have_ended(
    store: Store, clock: ManualClock
) -> None:
    ended: list[str] = []
    second_failed = asyncio.Event()

    @workflow
    async def failing(run: WorkflowRun, input: None) -> Any:
        async def first(run: WorkflowRun) -> None:
            await run.step("wait", second_failed.wait)
            ended.append("first")
            raise ValueError("first")

        async def second(run: WorkflowRun) -> None:
            ended.append("second")
            second_failed.set()
            raise ValueError("second")

        async def third(run: WorkflowRun) -> None:
            await run.step("nothing", lambda: None)
            ended.append("third")

        try:
            await run.gather(first, second, third)
        except ValueError as error:
            return [str(error), len(ended)]

    async with hosting(store, clock, failing) as flows:
        run = await flows.ended(await flows.start(failing))

    assert run.output == ["first", 3]
    assert ended[0] == "second"


async def test_a_cancel_ends_every_branch(store: Store, clock: ManualClock) -> None:
    begun, ended = asyncio.Event(), []

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    @workflow
    async def busy(run: WorkflowRun, input: None) -> None:
        async def works(run: WorkflowRun) -> None:
            await run.step("work", work)

        async def asks(run: WorkflowRun) -> None:
            try:
                await run.ask("Yes?")
            finally:
                ended.append("ask")

        await run.gather(works, asks)

    async with hosting(store, clock, busy) as flows:
        run = await flows.start(busy)
        await asyncio.wait_for(begun.wait(), 10)
        await flows.client.cancel(run, "enough", STAFF)
        stopped = await flows.ended(run)

    assert (stopped.status, stopped.finish, stopped.reason) == ("cancelled", "cancelled", "enough")
    assert sorted(ended) == ["ask", "work"]


@pytest.mark.slow
async def test_a_branch_that_will_not_stop_is_left_behind(store: Store, clock: ManualClock) -> None:
    begun, release, went_on = asyncio.Event(), asyncio.Event(), []

    @workflow
    async def stubborn(run: WorkflowRun, input: None) -> None:
        async def never(run: WorkflowRun) -> None:
            begun.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            went_on.append(1)

        await run.gather(never)

    async with hosting(store, clock, stubborn, terms=LeaseTerms(grace=timedelta(0))) as flows:
        run = await flows.start(stubborn)
        await asyncio.wait_for(begun.wait(), 10)
        await flows.client.cancel(run, None, STAFF)
        assert (await flows.ended(run)).status == "cancelled"
    release.set()
    await asyncio.sleep(0)
    assert went_on == []


async def test_a_process_that_drains_lets_the_steps_of_all_branches_finish(
    store: Store, clock: ManualClock
) -> None:
    begun, release, made = asyncio.Event(), asyncio.Event(), []

    async def work(what: str) -> str:
        made.append(what)
        begun.set()
        await release.wait()
        return what

    @workflow
    async def two(run: WorkflowRun, input: None) -> Any:
        async def one(run: WorkflowRun) -> Any:
            return [await run.step("work", work, "a"), await run.step("more", work, "b")]

        async def other(run: WorkflowRun) -> Any:
            return await run.ask("Yes?")

        return await run.gather(one, other)

    async with hosting(store, clock, two) as flows:
        run = await flows.start(two)
        await asyncio.wait_for(begun.wait(), 10)
        draining = asyncio.ensure_future(flows.worker.drain(10))
        await asyncio.sleep(0)
        release.set()
        assert await draining
        assert await flows.names(run) == ["gather:0/0/work"]
        assert (await flows.row(run)).status == "queued"
    async with hosting(store, clock, two) as flows:
        await flows.settled(run)
        await flows.answer(run, {"gather:0/1/ask:0": True})
        assert (await flows.ended(run)).output == [["a", "b"], True]
    assert made == ["a", "b"]


async def test_a_message_wakes_a_branch_while_another_works(
    store: Store, clock: ManualClock
) -> None:
    begun, heard = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await heard.wait()

    @workflow
    async def both(run: WorkflowRun, input: None) -> Any:
        async def works(run: WorkflowRun) -> None:
            await run.step("work", work)

        async def listens(run: WorkflowRun) -> Any:
            message = await run.receive(returns=dict[str, int])
            heard.set()
            return message

        return await run.gather(works, listens)

    async with hosting(store, clock, both) as flows:
        run = await flows.start(both)
        await asyncio.wait_for(begun.wait(), 10)
        await flows.send(run, {"n": 1})
        assert (await flows.ended(run)).output == [None, {"n": 1}]
        names = await flows.names(run)
    assert names == ["gather:0/1/receive:0", "gather:0/0/work"]


async def test_a_message_that_does_not_fit_is_received_and_told(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def numbers(run: WorkflowRun, input: None) -> Any:
        try:
            await run.receive(returns=int)
        except StepFailedError as error:
            return [error.step, await run.receive(returns=int)]

    async with hosting(store, clock, numbers) as flows:
        run = await flows.start(numbers)
        await flows.settled(run)
        await flows.send(run, "many")
        await flows.send(run, 2)
        assert (await flows.ended(run)).output == ["receive:0", 2]


async def test_a_short_sleep_gives_nothing_back() -> None:
    store = MemoryStore()

    @workflow
    async def nap(run: WorkflowRun, input: None) -> float:
        began = time.monotonic()
        await run.sleep(0.05)
        return time.monotonic() - began

    async with hosting(store, SystemClock(), nap) as flows:
        run = await flows.start(nap)
        assert (await flows.ended(run)).output >= 0.049
        assert (await flows.row(run)).token == 1


async def test_a_clock_that_is_set_back_shortens_no_sleep_and_undoes_none(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def sleeper(run: WorkflowRun, input: None) -> None:
        await run.sleep(600)
        await run.ask("Awake?")

    async with hosting(store, clock, sleeper) as flows:
        run = await flows.start(sleeper)
        await flows.settled(run)
        seq = (await flows.row(run)).seq
        clock.advance(601)
        flows.worker.ring()
        await flows.moves(run, seq)
        await flows.settled(run)
    early = ManualClock(clock.wall() - 3600, clock.steady())
    async with hosting(store, early, sleeper) as flows:
        await flows.answer(run, {"ask:0": None})
        assert (await flows.ended(run)).status == "succeeded"


async def test_times_without_a_zone_and_durations_of_the_past_are_refused(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def sleeper(run: WorkflowRun, input: None) -> list[str]:
        told = []
        for wait in (-1.0, float("nan"), datetime(2026, 1, 1), datetime.max.replace(tzinfo=UTC)):
            try:
                if isinstance(wait, datetime):
                    await run.sleep_until(wait)
                else:
                    await run.sleep(wait)
            except ConfigError as error:
                told.append(str(error))
        await run.sleep_until(datetime(2020, 1, 1, tzinfo=UTC))
        return told

    async with hosting(store, clock, sleeper) as flows:
        ended = await flows.ended(await flows.start(sleeper))
    assert len(ended.output) == 4
    assert "time zone" in ended.output[2]
    assert "9000" in ended.output[3]


async def test_a_step_past_its_timeout_fails_and_its_thread_is_left(store: Store) -> None:
    release = threading.Event()

    @workflow
    async def slow(run: WorkflowRun, input: None) -> Any:
        try:
            await run.step("wait", release.wait, 30.0, timeout=0.01)
        except StepFailedError as error:
            return error.error

    async with hosting(store, SystemClock(), slow) as flows:
        ended = await flows.ended(await flows.start(slow))
    release.set()
    assert ended.output == "it took longer than its timeout of 0.01 seconds"


async def test_a_run_makes_no_steps_after_its_function_returned(
    store: Store, clock: ManualClock
) -> None:
    kept: list[WorkflowRun] = []

    @workflow
    async def leaks(run: WorkflowRun, input: None) -> Any:
        async def branch(run: WorkflowRun) -> None:
            kept.append(run)

        await run.gather(branch)
        try:
            await kept[0].step("late", lambda: None)
        except ConfigError as error:
            kept.append(run)
            return str(error)

    async with hosting(store, clock, leaks) as flows:
        ended = await flows.ended(await flows.start(leaks))

    assert "after its function returned" in ended.output
    with pytest.raises(ConfigError, match="after its function returned"):
        await kept[1].step("late", lambda: None)


async def test_a_thousand_recorded_steps_answer_in_no_time(clock: ManualClock) -> None:
    store = MemoryStore(clock)
    made: list[int] = []
    drives: list[float] = []

    def keep(number: int) -> int:
        made.append(number)
        return number

    @workflow
    async def long(run: WorkflowRun, input: None) -> int:
        began = time.process_time()
        total = 0
        for number in range(1000):
            total += await run.step("add", keep, number, returns=int)
        drives.append(time.process_time() - began)
        await run.ask("Go on?")
        return total

    async with hosting(store, clock, long) as flows:
        run = await flows.start(long)
        await flows.settled(run)
        await flows.answer(run, {"ask:0": None})
        assert (await flows.ended(run)).output == sum(range(1000))

    assert len(made) == 1000
    assert drives[1] < 1
