"""A run's steps: made once, recorded, and not begun after the lease."""

from __future__ import annotations

import asyncio

import pytest

from remit.kernel.facts import Answered, AnyFact, Asked, Stepped
from remit.kernel.journal import UnkeptJournal
from remit.kernel.lease import Lease, LeaseLost, Leaving
from remit.kernel.nested import nested
from remit.kernel.run import ActiveRun, Surroundings, Tenure
from remit.testing.clock import ManualClock
from remit.values.usage import Usage

ASKED = Asked(at=1, input="?")


class Made:
    """A value, and how often it was made."""

    def __init__(self) -> None:
        self.times = 0

    async def value(self) -> int:
        self.times += 1
        return self.times


def a_run(
    clock: ManualClock,
    *facts: AnyFact,
    lease: Lease | None = None,
    hold: Tenure | None = None,
) -> ActiveRun:
    journal = UnkeptJournal(lambda seq, fact: None)
    journal.seq = len(facts) + 1
    around = Surroundings(clock=clock, lease=lease or Lease(clock))
    return ActiveRun("run_1", enumerate((ASKED, *facts), 1), journal, around, hold or Tenure())


async def test_a_step_is_made_once_and_answered_from_then_on(clock: ManualClock) -> None:
    run, made = a_run(clock), Made()
    assert await run.step("one", made.value, int) == 1
    assert await run.step("one", made.value, int) == 1
    assert await run.step("two", made.value, int) == 2
    assert [fact.name for _, fact in run.facts if isinstance(fact, Stepped)] == ["one", "two"]


async def test_a_recorded_step_has_the_type_that_it_was_made_with(clock: ManualClock) -> None:
    stored = Stepped(at=2, name="used", value={"input_tokens": 5, "cost": "0.1"})
    run = a_run(clock, stored)

    async def never() -> Usage:
        raise AssertionError("a recorded step is not made again")

    found = await run.step("used", never, Usage)
    assert isinstance(found, Usage)
    assert found.input_tokens == 5
    assert str(found.cost) == "0.1"


async def test_a_step_that_raises_records_nothing(clock: ManualClock) -> None:
    run, made = a_run(clock), Made()

    async def failing() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run.step("one", failing, int)
    assert await run.step("one", made.value, int) == 1


async def test_no_step_begins_after_the_lease(clock: ManualClock) -> None:
    recorded = Stepped(at=2, name="old", value=7)
    run, made = a_run(clock, recorded, lease=Lease(clock, clock.steady() + 20)), Made()
    clock.advance(20)
    with pytest.raises(LeaseLost):
        await run.step("one", made.value, int)
    assert made.times == 0
    assert await run.step("old", made.value, int) == 7


async def test_no_step_begins_where_the_process_is_leaving(clock: ManualClock) -> None:
    run, made = a_run(clock), Made()
    run.stopping = Leaving
    with pytest.raises(Leaving):
        await run.step("one", made.value, int)
    assert made.times == 0


async def test_a_step_records_how_long_it_took(clock: ManualClock) -> None:
    run = a_run(clock)

    async def slow() -> None:
        clock.advance(1.5)

    await run.step("slow", slow, type(None))
    assert isinstance(run.facts[-1][1], Stepped)
    assert run.facts[-1][1].took == 1500


async def test_a_former_holder_is_outwaited(clock: ManualClock) -> None:
    """Its lease has been over for 2 seconds when this process takes the run."""
    run = a_run(clock, hold=Tenure(since_lost=2.0, grace=5.0))
    waiting = asyncio.ensure_future(run.outwait(5.0))
    await asyncio.sleep(0)
    clock.advance(2.9)
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.advance(0.2)
    await waiting
    await run.outwait(5.0)


async def test_nobody_is_waited_for_where_no_lease_was_lost(clock: ManualClock) -> None:
    await a_run(clock).outwait(1_000)


async def test_waiting_for_a_former_holder_does_not_outlast_the_own_lease(
    clock: ManualClock,
) -> None:
    lease = Lease(clock, clock.steady() + 3)
    run = a_run(clock, lease=lease, hold=Tenure(since_lost=0.0))
    waiting = asyncio.ensure_future(run.outwait(5.0))
    await asyncio.sleep(0)
    clock.advance(6)
    with pytest.raises(LeaseLost):
        await waiting


async def test_an_answer_is_known_once_it_is_recorded(clock: ManualClock) -> None:
    run = a_run(clock, Answered(at=2, key="a", value="yes"))
    assert run.answer("b") is None
    await run.record(Answered(at=3, key="b", value="no"))
    found = [run.answer(key) for key in ("a", "b")]
    assert [answer.value for answer in found if answer] == ["yes", "no"]


async def test_what_was_recorded_before_this_process_is_told_apart(clock: ManualClock) -> None:
    run, made = a_run(clock, Stepped(at=2, name="old", value=7)), Made()
    await run.step("new", made.value, int)
    assert run.recorded_at("old") == 2 == run.resumed_at
    assert run.recorded_at("new") == 3
    assert run.recorded_at("never") is None


def test_a_run_inside_another_goes_by_the_same_time(clock: ManualClock) -> None:
    around = Surroundings(clock=clock, lease=Lease(clock), wall=lambda: 5.0)
    outer = ActiveRun(
        "run_1", [(1, ASKED)], UnkeptJournal(lambda seq, fact: None), around, Tenure()
    )
    inner = nested(outer, "agent:0/")
    assert (outer.now(), inner.now()) == (5000, 5000)
