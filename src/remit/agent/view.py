"""A run as people see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from remit.agent.state import derive
from remit.kernel.facts import AnyFact, Asked
from remit.values.moment import moment
from remit.values.results import Run, Status


class Row(Protocol):
    """What a store tells of a run."""

    @property
    def id(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def tenant(self) -> str | None: ...
    @property
    def user(self) -> str | None: ...
    @property
    def thread(self) -> str | None: ...
    @property
    def created(self) -> int: ...
    @property
    def ended(self) -> int | None: ...
    @property
    def due(self) -> int | None: ...


def listed(row: Row) -> Run:
    """The run without its contents."""
    return Run(**_outline(row))


def view(row: Row, facts: Sequence[tuple[int, AnyFact]], answered: Collection[str] = ()) -> Run:
    """The run with everything that its facts tell. The questions whose keys are `answered` wait
    no more, though the run has not taken their answers yet."""
    state = derive(row.id, facts)
    asked = next((fact for _, fact in facts if isinstance(fact, Asked)), None)
    end = state.finished
    finish = end.finish if end else "approval" if row.status == "paused" else None
    return Run(
        **_outline(row),
        finish=finish,
        reason=end.reason if end else None,
        error=end.error if end else None,
        text=state.text,
        output=end.output if end else None,
        messages=state.all_messages(),
        turns=tuple(state.turns),
        usage=state.usage,
        pending=tuple(
            pending
            for key, pending in state.asks.items()
            if row.status == "paused" and key not in answered
        ),
        by=asked.by if asked else None,
    )


def _outline(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "agent": row.program.partition("@")[0],
        "status": row.status,
        "user": row.user,
        "tenant": row.tenant,
        "thread": row.thread.rpartition("/")[2] if row.thread else None,
        "created": moment(row.created),
        "ended": None if row.ended is None else moment(row.ended),
        "due": None if row.due is None or row.status == "running" else moment(row.due),
    }
