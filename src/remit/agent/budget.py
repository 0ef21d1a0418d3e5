"""What a run may use at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

from remit.agent.state import AgentState
from remit.values.errors import ConfigError
from remit.values.money import Amount, amount
from remit.values.results import Finish
from remit.values.usage import Usage

OnLimit = Literal["stop", "answer"]
"""What becomes of a run whose budget ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The bounds of a run; it stops at whichever comes first. At least `turns` or `cost`.

    `turns` counts the run's own model calls, `tokens` input and output together, `cost` is in
    the app's currency unit. What agents inside its calls use counts for all but `turns` and
    `tool_calls`. `seconds` counts time at work, without waiting for people and
    queues. `cost` and `tokens` are checked before each model call, and the call that crosses
    them is not held back.
    """

    turns: int | None = None
    cost: Amount | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    seconds: float | timedelta | None = None

    def __post_init__(self) -> None:
        if self.turns is None and self.cost is None:
            raise ConfigError("Budget needs turns= or cost=: an agent with no bound is refused")
        for name in ("turns", "tokens", "tool_calls"):
            value = getattr(self, name)
            least = 0 if name == "tool_calls" else 1
            if value is not None and (type(value) is not int or value < least):
                raise ConfigError(
                    f"Budget.{name} must be a whole number of at least {least}, not {value!r}"
                )
        if self.cost is not None:
            object.__setattr__(self, "cost", amount(self.cost, "Budget.cost"))
        if self.seconds is not None:
            seconds = self.seconds
            if isinstance(seconds, timedelta):
                seconds = seconds.total_seconds()
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
                raise ConfigError(f"Budget.seconds must be more than 0, not {self.seconds!r}")
            object.__setattr__(self, "seconds", float(seconds))

    @property
    def limit_seconds(self) -> float | None:
        """`seconds` as a number."""
        return self.seconds if isinstance(self.seconds, float) else None


def spent(state: AgentState, budget: Budget) -> Finish | None:
    """Why no further model call may start, None if one may."""
    if budget.turns is not None and len(state.turns) >= budget.turns:
        return "turns"
    if isinstance(budget.cost, Decimal) and (state.usage.cost or 0) >= budget.cost:
        return "budget"
    if budget.tokens is not None and state.usage.tokens >= budget.tokens:
        return "tokens"
    if budget.tool_calls is not None and state.calls_asked > budget.tool_calls:
        return "tool_calls"
    if budget.seconds is not None and state.seconds >= (budget.limit_seconds or 0):
        return "seconds"
    return None


def has_room(rest: Mapping[str, Any], need: Usage) -> bool:
    """Whether the `rest` of the money and the tokens is enough for `need`."""
    cost, tokens = rest["cost"], rest["tokens"]
    pays = cost is None or (need.cost or Decimal(0)) <= cost
    return pays and (tokens is None or need.tokens <= tokens)


def left(state: AgentState, budget: Budget) -> dict[str, Any]:
    """What is left of each bound, by its name, never less than 0; None where there is none."""
    used: dict[str, Any] = {
        "turns": len(state.turns),
        "cost": state.usage.cost or Decimal(0),
        "tool_calls": state.calls_asked,
        "tokens": state.usage.tokens,
        "seconds": state.seconds,
    }
    bounds: dict[str, Any] = {name: getattr(budget, name) for name in used}
    if bounds["cost"] is not None:
        bounds["cost"] = Decimal(str(bounds["cost"]))
    return {
        name: None if bound is None else max(bound - used[name], used[name] * 0)
        for name, bound in bounds.items()
    }


def closing(state: AgentState, budget: Budget) -> Finish | None:
    """The bound that leaves room for one more model call and for no tools before it; None where
    there is more room, or none. A turn is taken to use what the one before it did."""
    if state.open_calls or not state.unanswered or state.closing is not None:
        return None
    if spent(state, budget) not in (None, "tool_calls"):
        return None
    rest = left(state, budget)
    if rest["seconds"] == 0 or state.stuck is not None or state.told.invalid:
        return None
    if rest["turns"] == 1:
        return "turns"
    if rest["tool_calls"] == 0:
        return "tool_calls"
    if not state.turns:
        return None
    newest = state.turns[-1].usage
    uses: tuple[tuple[Finish, Any, Any], ...] = (
        ("budget", rest["cost"], newest.cost or 0),
        ("tokens", rest["tokens"], newest.tokens),
        ("seconds", rest["seconds"], state.seconds / len(state.turns)),
    )
    return next((name for name, has, use in uses if has is not None and has < 2 * use), None)
