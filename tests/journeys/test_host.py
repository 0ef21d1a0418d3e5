"""Laws of driving runs, with programs that know nothing of models."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from remit.kernel.facts import Answered, Ask, Finished, Paused, Stepped
from remit.kernel.interrupt import Answer
from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.values import codec
from remit.values.errors import StoreError
from remit.values.identity import Caller
from tests.journeys.host import DONE, hosting


async def test_a_recorded_step_is_never_made_again(store: Store, clock: ManualClock) -> None:
    made: list[str] = []
    stop = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        async def first() -> str:
            made.append("first")
            return "one"

        assert await run.step("first", first, str) == "one"
        if not stop.is_set():
            stop.set()
            await asyncio.Event().wait()
        return DONE

    async with hosting(store, clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(stop.wait(), 5)
    async with hosting(store, clock, program) as host:
        assert (await host.settled(run)).status == "succeeded"
        facts = await host.facts(run)
    assert made == ["first"]
    assert [type(fact) for fact in facts[1:]] == [Stepped, Finished]


async def test_parallel_results_share_one_sequence(store: Store, clock: ManualClock) -> None:
    async def program(run: ActiveRun) -> Outcome:
        async def value(number: int) -> int:
            await asyncio.sleep(0)
            return number

        async def step(number: int) -> int:
            return await run.step(f"part:{number}", lambda: value(number), int)

        async with asyncio.TaskGroup() as tasks:
            parts = [tasks.create_task(step(number)) for number in range(20)]
        assert [part.result() for part in parts] == list(range(20))
        return DONE

    async with hosting(store, clock, program) as host:
        run = await host.start()
        row = await host.settled(run)
        facts = await host.facts(run)
    assert row.status == "succeeded"
    assert row.seq == len(facts) == 22


async def test_a_run_goes_on_with_the_answer_that_it_paused_for(
    store: Store, clock: ManualClock
) -> None:
    async def program(run: ActiveRun) -> Outcome:
        answer = run.answer("q")
        if answer is None:
            run.pause([Ask("q", "may I?")])
        return Outcome(status="succeeded", finish="answer", output=answer.value)

    async with hosting(store, clock, program) as host:
        run = await host.start()
        assert (await host.settled(run)).status == "paused"
        answer = Answer(value="yes", by=Caller(user="staff_1"), at=5)
        assert await host.client.answer(run, {"q": answer}) == 0
        assert (await host.settled(run)).status == "succeeded"
        facts = await host.facts(run)
    assert [type(fact) for fact in facts[1:]] == [Paused, Answered, Finished]
    assert isinstance(facts[2], Answered)
    assert facts[2].by == Caller(user="staff_1")
    assert isinstance(facts[3], Finished)
    assert facts[3].output == "yes"


async def test_a_dead_process_is_followed_by_another(store: Store, clock: ManualClock) -> None:
    """Its lease ends, the sweep finds the run, and its next holder finishes it."""
    await store.beat("dead", 20.0, join=True)

    async def program(run: ActiveRun) -> Outcome:
        return Outcome(status="succeeded", finish="answer", output=run.tenure.deaths)

    async with hosting(store, clock, program, work=False) as host:
        run = await host.start()
    claims = await store.claim("dead", ["toy@1"], format=1)
    assert [claim.run for claim in claims] == [run]
    clock.advance(21)
    async with hosting(store, clock, program) as host:
        assert (await host.settled(run)).status == "succeeded"
        last = (await host.facts(run))[-1]
    assert isinstance(last, Finished)
    assert last.output == 1


async def test_a_run_that_kills_its_processes_is_given_up(store: Store, clock: ManualClock) -> None:
    async def program(run: ActiveRun) -> Outcome:
        raise AssertionError("a run that is given up is not driven")

    async with hosting(store, clock, program, work=False) as host:
        run = await host.start()
    for number in range(3):
        await store.beat(f"dead{number}", 20.0, join=True)
        assert await store.claim(f"dead{number}", ["toy@1"], format=1)
        clock.advance(21)
        await store.sweep()
    async with hosting(store, clock, program) as host:
        assert (await host.settled(run)).status == "failed"
        last = (await host.facts(run))[-1]
    assert isinstance(last, Finished)
    assert last.error is not None
    assert "died 3 times" in last.error


async def test_a_drive_that_raises_fails_the_run_and_no_other(
    store: Store, clock: ManualClock
) -> None:
    async def program(run: ActiveRun) -> Outcome:
        if run.asked.input == "bad":
            raise ValueError("broken")
        return DONE

    async with hosting(store, clock, program) as host:
        bad, good = await host.start("bad"), await host.start("good")
        assert (await host.settled(bad)).status == "failed"
        assert (await host.settled(good)).status == "succeeded"
        last = (await host.facts(bad))[-1]
    assert isinstance(last, Finished)
    assert last.error == "ValueError: broken"


async def test_cancel_ends_a_running_run_as_cancelled(store: Store, clock: ManualClock) -> None:
    began = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        await asyncio.Event().wait()
        return DONE

    async with hosting(store, clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
        assert await host.client.cancel(run, "enough", None) == "running"
        assert (await host.settled(run)).status == "cancelled"
        last = (await host.facts(run))[-1]
    assert isinstance(last, Finished)
    assert (last.finish, last.reason) == ("cancelled", "enough")


async def test_cancel_from_another_process_is_seen_at_the_next_renewal(
    store: Store, clock: ManualClock
) -> None:
    began = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        await asyncio.Event().wait()
        return DONE

    async with (
        hosting(store, clock, program) as host,
        hosting(store, clock, program, work=False) as other,
    ):
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
        assert await other.client.cancel(run, None, None) == "running"
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert (await store.get(run)).status == "running"  # type: ignore[union-attr]  # it exists
        clock.advance(5)
        assert (await host.settled(run)).status == "cancelled"


async def test_an_accepted_cancel_always_ends_cancelled(store: Store, clock: ManualClock) -> None:
    """Whatever the run is about to do: finish, pause or record."""
    for round_ in range(60):

        async def program(run: ActiveRun) -> Outcome:
            async def value() -> int:
                return 1

            await run.step("one", value, int)
            if run.asked.input % 2:
                run.pause([Ask("q", "?")])
            return DONE

        async with hosting(store, clock, program) as host:
            run = await host.start(round_)
            for _ in range(round_ % 12):
                await asyncio.sleep(0)
            if round_ % 3:
                await asyncio.sleep(0.0005 * (round_ % 7))
            status = await host.client.cancel(run, None, None)
            row = await host.settled(run)
            if status in ("running", "cancelled"):
                assert row.status == "cancelled"
            else:
                assert row.status == status


async def test_a_cancel_that_a_program_takes_with_its_news_ends_it(
    store: Store, clock: ManualClock
) -> None:
    """Also where the look at the news that stops programs failed."""
    failed = asyncio.Event()

    class Failing:
        """Fails the first look at what was cancelled."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def signals(self, run: str) -> Any:
            found = await store.signals(run)
            if found and not failed.is_set():
                failed.set()
                raise StoreError(reason="away for a moment")
            return found

    async def program(run: ActiveRun) -> Outcome:
        answer = Answer(value="enough", by=None, at=0)
        await store.cancel(run.id, b"", 1, codec.encode(answer))

        async def value() -> int:
            return 1

        await run.step("one", value, int)
        await asyncio.wait_for(failed.wait(), 5)
        await run.take_news()
        return DONE

    failing: Any = Failing()
    async with hosting(failing, clock, program) as host:
        run = await host.start()
        assert (await host.settled(run)).status == "cancelled"


async def test_a_worker_whose_lease_lapsed_drops_its_runs_and_goes_on_anew(
    store: Store, clock: ManualClock
) -> None:
    drives: list[int] = []
    began = asyncio.Event()
    cut = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        drives.append(run.tenure.token)
        if len(drives) == 1:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                cut.set()
        return DONE

    terms = LeaseTerms(lasts=timedelta(seconds=20), renew_every=timedelta(seconds=5))
    async with hosting(store, clock, program, terms=terms) as host:
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
        clock.advance(100)
        await asyncio.wait_for(cut.wait(), 5)
        assert (await host.settled(run)).status == "succeeded"
    assert len(drives) == 2
    assert drives[1] > drives[0]


async def test_leaving_gives_runs_back_without_a_death(store: Store, clock: ManualClock) -> None:
    began = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        began.set()
        await asyncio.Event().wait()
        return DONE

    async with hosting(store, clock, program) as host:
        run = await host.start()
        await asyncio.wait_for(began.wait(), 5)
    row = await store.get(run)
    assert row is not None
    assert (row.status, row.deaths) == ("queued", 0)


async def test_no_more_runs_at_once_than_there_is_room(store: Store, clock: ManualClock) -> None:
    now = most = 0
    full = asyncio.Event()

    async def program(run: ActiveRun) -> Outcome:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        now -= 1
        return DONE

    async with hosting(store, clock, program, room=3) as host:
        runs = [await host.start() for _ in range(20)]
        for run in runs:
            assert (await host.settled(run)).status == "succeeded"
    assert most == 3
