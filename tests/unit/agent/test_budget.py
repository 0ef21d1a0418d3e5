"""Budgets check themselves, and say when a run may not go on."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from remit import Budget, Turn, Usage
from remit.agent.budget import spent
from remit.agent.state import AgentState
from remit.errors import ConfigError

WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "turns= or cost="),
    ({"tokens": 100, "seconds": 5, "tool_calls": 3}, "turns= or cost="),
    ({"turns": 0}, "at least 1"),
    ({"turns": -1}, "at least 1"),
    ({"turns": 1.0}, "whole number"),
    ({"turns": True}, "whole number"),
    ({"turns": "3"}, "whole number"),
    ({"turns": 1, "tokens": 0}, "at least 1"),
    ({"turns": 1, "tool_calls": -1}, "at least 0"),
    ({"turns": 1, "seconds": 0}, "more than 0"),
    ({"turns": 1, "seconds": -0.5}, "more than 0"),
    ({"turns": 1, "seconds": math.nan}, "more than 0"),
    ({"turns": 1, "seconds": "5"}, "more than 0"),
    ({"turns": 1, "seconds": True}, "more than 0"),
    ({"turns": 1, "seconds": timedelta(0)}, "more than 0"),
    ({"cost": -1}, "at least 0"),
    ({"cost": "much"}, "number"),
    ({"cost": math.nan}, "finite"),
    ({"cost": Decimal("Infinity")}, "finite"),
    ({"cost": Decimal("sNaN")}, "finite"),
    ({"cost": True}, "number"),
]


@pytest.mark.parametrize(("options", "mend"), WRONG, ids=[str(options) for options, _ in WRONG])
def test_a_wrong_budget_is_refused(options: dict[str, Any], mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        Budget(**options)


@pytest.mark.parametrize("cost", ["0.3", 0.3, Decimal("0.3")])
def test_money_is_exact_whatever_it_was_given_as(cost: Any) -> None:
    assert Budget(cost=cost).cost == Decimal("0.3")


def test_time_is_seconds_whatever_it_was_given_as() -> None:
    assert Budget(turns=1, seconds=timedelta(minutes=1)) == Budget(turns=1, seconds=60)


def used(
    turns: int = 0, cost: str | None = None, tokens: int = 0, calls: int = 0, ms: int = 0
) -> AgentState:
    state = AgentState("run_1")
    usage = Usage(input_tokens=tokens, cost=None if cost is None else Decimal(cost))
    state.turns = [
        Turn(number=number, model="a:b", usage=usage, usage_id=str(number))
        for number in range(turns)
    ]
    state.usage = usage
    state.calls_asked = calls
    state._thinking_ms = ms
    return state


EDGES: list[tuple[dict[str, Any], AgentState, str | None]] = [
    ({"turns": 2}, used(turns=1), None),
    ({"turns": 2}, used(turns=2), "turns"),
    ({"cost": "0.3"}, used(cost="0.299999999"), None),
    ({"cost": "0.3"}, used(cost="0.3"), "budget"),
    ({"cost": "0"}, used(), "budget"),
    ({"turns": 9, "tokens": 100}, used(tokens=99), None),
    ({"turns": 9, "tokens": 100}, used(tokens=100), "tokens"),
    ({"turns": 9, "tool_calls": 2}, used(calls=2), None),
    ({"turns": 9, "tool_calls": 2}, used(calls=3), "tool_calls"),
    ({"turns": 9, "tool_calls": 0}, used(), None),
    ({"turns": 9, "seconds": 2}, used(ms=1999), None),
    ({"turns": 9, "seconds": 2}, used(ms=2000), "seconds"),
    ({"turns": 9, "seconds": math.inf}, used(ms=10**12), None),
]


@pytest.mark.parametrize(("options", "state", "finish"), EDGES)
def test_a_run_stops_exactly_at_its_bound(
    options: dict[str, Any], state: AgentState, finish: str | None
) -> None:
    assert spent(state, Budget(**options)) == finish


def test_costs_that_floats_would_miss_meet_the_limit_exactly() -> None:
    """Three calls of a tenth each: the third is allowed, and a fourth is not."""
    tenth = Usage(cost=Decimal("0.1"))
    budget = Budget(cost=0.3)
    state = AgentState("run_1")
    allowed = 0
    while spent(state, budget) is None:
        state.usage = state.usage + tenth
        allowed += 1
    assert allowed == 3
