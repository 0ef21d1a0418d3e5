"""What the demo tells, and what it needs of a screen to tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from remit.cli.render.page import Block, Cell, Tone
from remit.cli.render.wording import arguments, count, money, one_line
from remit.values.events import DoneEvent, Event, PendingEvent, ToolResultEvent


@dataclass(frozen=True, slots=True)
class Moment:
    """An event of a run, `at` seconds after the beginning, while `worker` was alive."""

    at: float
    worker: str
    message: str
    run: str
    event: Event


@dataclass(frozen=True, slots=True)
class Beat:
    """One thing that the demo tells: `step` and `facts` for programs, `text` for people."""

    step: str
    text: str
    tone: Tone = "plain"
    facts: Mapping[str, Any] = field(default_factory=dict)


class Screen(Protocol):
    """Where the demo tells its story."""

    def chapter(self, title: str) -> None:
        """A new part of the story."""
        ...

    def tell(self, beat: Beat) -> None:
        """One thing that happened."""
        ...

    def event(self, moment: Moment) -> None:
        """An event of a run."""
        ...

    def standing(self, runs: int, ended: int, waiting: int, worker: str) -> None:
        """How many runs there are, have ended and wait, and who works."""
        ...

    def show(self, blocks: Sequence[Block], values: Mapping[str, Any]) -> None:
        """A page of the books."""
        ...


def clock(moment: Moment) -> str:
    """When, by whom and about which message."""
    return f"{moment.at:6.2f}s  {moment.worker}  {moment.message:<5}"


def happened(event: Event) -> list[Cell]:
    """An event in words; nothing for those that only lead to others."""
    match event:
        case ToolResultEvent(call=call, result=result):
            given = one_line(arguments(call.arguments), 60)
            tone: Tone = "plain" if result.status == "ok" else "bad"
            return [Cell(f"{call.name}({given}) -> {one_line(result.text, 60)}", tone)]
        case PendingEvent(pending=pending):
            return [
                Cell(f"waits: {one.tool}({arguments(one.arguments)})", "waiting")
                for one in pending
                if one.kind == "call"
            ]
        case DoneEvent(result=result, error=error):
            if result is None:
                return [Cell(f"failed: {one_line(error or 'without a word')}", "bad")]
            turns, spent = count(len(result.turns), "turn"), result.usage.cost
            cost = "" if spent is None else f", cost {money(spent)}"
            tone = "good" if result.finish == "answer" else "bad"
            return [Cell(f"{result.finish} after {turns}{cost}", tone)]
        case _:
            return []
