"""Model calls of an agent that are no turn: attempts that failed, and briefs of folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remit.agent.recorded.failed import Failed
from remit.agent.recorded.folds import Brief
from remit.agent.recorded.steps import ModelAnswer, step_value
from remit.agent.state import INSIDE
from remit.flow.view import Facts
from remit.kernel.facts import Stepped
from remit.values.results import Turn

Attempt = Failed | Brief
Attempts = Mapping[int, Sequence[Attempt]]
"""What was asked of models before the answer of each turn, by the turn's number."""


def attempts_of(facts: Facts) -> Attempts:
    """Those of the agent whose own `facts` these are."""
    found: dict[int, list[Attempt]] = {}
    turn = 0
    for _, fact in facts:
        if not isinstance(fact, Stepped) or INSIDE in fact.name:
            continue
        value = step_value(fact)
        if isinstance(value, ModelAnswer):
            turn += 1
        elif isinstance(value, Failed | Brief):
            found.setdefault(turn, []).append(value)
    return found


def unanswered(attempts: Attempts, turns: Sequence[Turn]) -> Sequence[Attempt]:
    """The attempts at a turn that has no answer."""
    return attempts.get(len(turns), ())


def follows(failed: Failed) -> str:
    """What followed a failure, in a few words."""
    if failed.next is not None:
        return f"{failed.next} takes over"
    return "the run fails" if failed.ends else f"asked again after {failed.wait:.3g} s"


def fields_of(attempt: Attempt) -> dict[str, Any]:
    """What it was for, and of a failure why and what followed, as plain values."""
    if isinstance(attempt, Brief):
        return {"purpose": "brief", "failure": None}
    return {
        "purpose": attempt.purpose,
        "failure": attempt.why,
        "status": attempt.status,
        "error": attempt.message,
        "wait": attempt.wait,
        "next": attempt.next,
    }
