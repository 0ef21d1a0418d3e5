"""A run whose models fail, driven line by line."""

from __future__ import annotations

import pytest

from remit import Agent, Budget
from remit.options import Retry
from remit.store.protocol import Store
from remit.testing import Harness, ManualClock, Say, ScriptedModel
from remit.testing.gates import Moment
from tests.journeys.clerk import Desk
from tests.journeys.models import BUSY, GONE


def process(store: Store, clock: ManualClock, *models: ScriptedModel) -> Harness:
    agent = Agent(
        name="clerk",
        model=list(models),
        tools=Desk().tools(),
        budget=Budget(turns=3),
        retry=Retry(attempts=2, first=20, jitter=0),
    )
    return Harness([agent], store=store, clock=clock)


async def test_a_run_rests_before_it_asks_again(store: Store, clock: ManualClock) -> None:
    model = ScriptedModel([BUSY, Say("Hello.")])
    async with process(store, clock, model) as at:
        await at.start("clerk", "x")
        await at.next_model()
        assert at.standing == []
        with pytest.raises(AssertionError, match=r"advance\(20\)"):
            await at.next_model()
        await at.advance(20)
        await at.next_model()
        run = await at.finish()
    assert run.text == "Hello."


async def test_finish_lets_the_time_go_by(store: Store, clock: ManualClock) -> None:
    model = ScriptedModel([BUSY, Say("Hello.")])
    began = clock.steady()
    async with process(store, clock, model) as at:
        await at.start("clerk", "x")
        run = await at.finish()
    assert run.text == "Hello."
    assert clock.steady() - began == 20


async def test_who_takes_over_stands_at_the_gate(store: Store, clock: ManualClock) -> None:
    a, b = ScriptedModel([GONE], name="a:one"), ScriptedModel([Say("Hello.")], name="b:two")
    async with process(store, clock, a, b) as at:
        await at.start("clerk", "x")
        assert at.standing == ["model a:one"]
        await at.next_model()
        assert at.standing == ["model b:two"]
        run = await at.finish()
    assert [turn.model for turn in run.turns] == ["b:two"]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_process_that_died_leaves_who_took_over_if_that_was_recorded(
    store: Store, clock: ManualClock, moment: Moment
) -> None:
    again = [Say("Of the first.")] if moment == "before" else []
    a, b = ScriptedModel([GONE, *again], name="a:one"), ScriptedModel([], name="b:two")
    if moment == "after":
        b = ScriptedModel([Say("Of the second.")], name="b:two")
    async with process(store, clock, a, b) as at:
        await at.start("clerk", "x")
        await at.next_model(crash=moment)
        await at.restart()
        run = await at.finish()
    assert run.text == ("Of the first." if moment == "before" else "Of the second.")
