"""Models of agents that work inside another's calls fail as those of any."""

from __future__ import annotations

from typing import Any

import pytest

from remit import Budget, Card, Pricing
from remit.events import SubagentEvent
from remit.options import Retry
from remit.store.protocol import Store
from remit.testing import Answer, Call, Say, ScriptedModel
from remit.testing.clock import ManualClock
from tests.journeys.clerk import Desk, app_of, ended, results
from tests.journeys.models import BUSY, GONE, TIMEOUT, USED, Halting, always
from tests.journeys.office import chief, scout

A, B = "a:one", "b:two"
SHORT = Card(pricing=Pricing(input=1, output=10), max_output=100)
TWICE = Retry(attempts=2, first=0)


def lead() -> ScriptedModel:
    script = [Answer(Call("scout", task="x"), usage=USED), Answer(Say("So."), usage=USED)]
    return ScriptedModel(script, card=SHORT)


def inner(*models: Halting, **options: Any) -> Any:
    return scout([], Desk().tools(), model=list(models), **({"retry": TWICE} | options))


async def test_who_takes_over_inside_works_to_the_end_of_the_call(
    store: Store, clock: ManualClock
) -> None:
    a, b = Halting(A, [(0, TIMEOUT), *always(GONE, 1)], card=SHORT), Halting(B, card=SHORT)
    async with app_of(chief(lead(), inner(a, b)), store, clock) as app:
        run = await ended(app, await app.start("chief", "x", user="u_1"))
        told = [event async for event in app.events(run.id)]
        (spent,) = await app.spend(user="u_1")
        assert await app.replay(run.id) is None

    assert [one.text for one in results(run.messages)] == [f"{B} answers."]
    inside = [event.event.kind for event in told if isinstance(event, SubagentEvent)]
    assert [kind for kind in inside if kind in ("retry", "fallback")] == ["retry", "fallback"]
    assert run.usage.output_tokens == 4 * 20 + 100
    assert (spent.cost, spent.calls) == (run.usage.cost, 5)


@pytest.mark.parametrize(("cost", "asked"), [("0.0024", 1), ("0.0100", 2)])
async def test_a_call_inside_is_made_again_only_if_the_callers_hold_both(
    store: Store, clock: ManualClock, cost: str, asked: int
) -> None:
    """What the first call of the caller took is 0.0003, and each attempt may take 0.0011."""
    model = Halting(A, always(TIMEOUT), card=SHORT)
    agent = chief(lead(), inner(model), budget=Budget(cost=cost))
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("chief", "x"))
        assert await app.replay(run.id) is None

    assert len(model.requests) == asked
    assert [one.status for one in results(run.messages)] == ["error"]
    assert run.text == "So."


async def test_a_failure_that_ends_an_agent_inside_is_its_callers_to_read(
    store: Store, clock: ManualClock
) -> None:
    model = Halting(A, always(BUSY), card=SHORT)
    async with app_of(chief(lead(), inner(model)), store, clock) as app:
        run = await ended(app, await app.start("chief", "x"))
        assert await app.replay(run.id) is None

    assert (run.status, run.text, len(model.requests)) == ("succeeded", "So.", 2)
    assert run.usage.output_tokens == 2 * 20
