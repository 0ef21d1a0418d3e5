"""A workflow's run as people see it: what it waits with, how it stands, its events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from remit.flow.program import FlowInput
from remit.kernel.facts import Answered, AnyFact, Asked, Finished, Paused, Stepped
from remit.values.events import DoneEvent, FactEvent, PendingEvent
from remit.values.results import Pending, Question, Result, Run
from remit.values.usage import Usage

Facts = Sequence[tuple[int, AnyFact]]


def is_flow(facts: Facts) -> bool:
    """Whether the run is a workflow's."""
    first = facts[0][1] if facts else None
    if not isinstance(first, Asked):
        return False
    given = first.input
    return isinstance(given, FlowInput) or (
        isinstance(given, dict) and given.get("t") == "workflow"
    )


def waiting(facts: Iterable[tuple[int, AnyFact]]) -> dict[str, Question | Pending]:
    """What the run waits with, by key: its questions, and the calls of its agents."""
    asks: dict[str, Question | Pending] = {}
    for _, fact in facts:
        _wait(asks, fact)
    return asks


def view(outline: Run, facts: Facts, answered: Collection[str] = ()) -> Run:
    """The run, of which `outline` knows the row alone, with everything that its facts tell. The
    questions whose keys are `answered` wait no more."""
    asked = next((fact for _, fact in facts if isinstance(fact, Asked)), None)
    end = next((fact for _, fact in facts if isinstance(fact, Finished)), None)
    paused = outline.status == "paused"
    asks = waiting(facts) if paused else {}
    is_for_calls = any(ask.kind == "call" for ask in asks.values())
    return replace(
        outline,
        finish=end.finish if end else "approval" if is_for_calls else None,
        reason=end.reason if end else None,
        error=end.error if end else None,
        output=end.output if end else None,
        usage=_usage(facts),
        pending=tuple(ask for key, ask in asks.items() if key not in answered),
        by=asked.by if asked else None,
    )


class FlowProjector:
    """Turns the facts of a workflow's run, in order, into events: `pending` and `done`. What its
    agents do inside it gives none."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._asks: dict[str, Question | Pending] = {}
        self._usage = Usage()

    def advance(self, seq: int, fact: AnyFact) -> list[FactEvent]:
        """The events of the next fact."""
        _wait(self._asks, fact)
        self._usage = self._usage + _used(fact)
        match fact:
            case Paused():
                return [PendingEvent(seq=seq, pending=tuple(self._asks.values()))]
            case Finished():
                return [DoneEvent(seq=seq, result=self._result(fact), error=fact.error)]
            case _:
                return []

    def _result(self, end: Finished) -> Result | None:
        if end.finish is None:
            return None
        return Result(
            run_id=self._run_id,
            finish=end.finish,
            reason=end.reason,
            output=end.output,
            usage=self._usage,
        )


def _wait(asks: dict[str, Question | Pending], fact: AnyFact) -> None:
    match fact:
        case Paused():
            asks.clear()
            asks.update((ask.key, _read(ask.question)) for ask in fact.asks)
        case Answered():
            asks.pop(fact.key, None)
        case Finished():
            asks.clear()
        case _:
            return


def _read(question: Any) -> Question | Pending:
    if isinstance(question, Question | Pending):
        return question
    if isinstance(question, dict) and "question" in question:
        return msgspec.convert(question, Question)
    return msgspec.convert(question, Pending)


def _usage(facts: Facts) -> Usage:
    total = Usage()
    for _, fact in facts:
        total = total + _used(fact)
    return total


def _used(fact: AnyFact) -> Usage:
    """What a model's step inside the run used."""
    if not isinstance(fact, Stepped) or not fact.name.endswith("/think"):
        return Usage()
    value = fact.value
    used = value.get("usage") if isinstance(value, dict) else getattr(value, "usage", None)
    return msgspec.convert(used, Usage) if isinstance(used, dict) else used or Usage()
