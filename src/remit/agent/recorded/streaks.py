"""What a run does again and again, counted as its turns come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.values.content import Call
from remit.values.messages import ToolMessage

_FAILED = frozenset({"error", "timeout", "refused"})
_UNMADE = frozenset({"denied", "not_run"})


@dataclass(slots=True)
class Streak:
    """How often in a row, and how often it was when the model was told of it."""

    count: int = 0
    told: int | None = None

    def tell(self) -> None:
        """The model is told."""
        self.told = self.count


@dataclass(slots=True)
class Failures:
    """One tool's failures in a row, and how many of the last had the same `text`."""

    streak: Streak = field(default_factory=Streak)
    alike: Streak = field(default_factory=Streak)
    text: str = ""

    def add(self, text: str) -> None:
        """It failed once more."""
        if text != self.text:
            self.alike, self.text = Streak(), text
        self.streak.count += 1
        self.alike.count += 1


@dataclass(slots=True)
class Streaks:
    """The streaks of a run up to its last turn.

    `turns` are turns of equal `calls`, the last ones, and `outcomes` those of equal calls with
    equal `results`. `failures` is by the names of those tools whose last call failed. `texts` are
    turns that said `text`; those between them that said nothing are not counted.
    """

    calls: tuple[Call, ...] = ()
    results: Sequence[ToolMessage] = ()
    turns: Streak = field(default_factory=Streak)
    outcomes: Streak = field(default_factory=Streak)
    failures: dict[str, Failures] = field(default_factory=dict)
    text: str = ""
    texts: Streak = field(default_factory=Streak)
    calm: bool = True
    """Whether nothing was done twice in a row and nothing failed."""

    def say(self, text: str) -> None:
        """Take what the model said in a turn."""
        text = text.strip()
        if text:
            if text != self.text:
                self.texts, self.text = Streak(), text
            self.texts.count += 1
            self.calm = self.calm and self.texts.count < 2

    def act(self, calls: tuple[Call, ...], results: Sequence[ToolMessage]) -> None:
        """Take a complete turn's calls, and their results in the same order."""
        if len(calls) > 1:
            order = sorted(range(len(calls)), key=lambda at: _place(calls[at]))
            calls, results = tuple([calls[at] for at in order]), [results[at] for at in order]
        outcomes = self.outcomes
        if not _are_equal(calls, self.calls):
            self.turns.count, self.turns.told = 0, None
            outcomes.count, outcomes.told = 0, None
        elif not _are_alike(results, self.results):
            outcomes.count, outcomes.told = 0, None
        self.turns.count += 1
        self.outcomes.count += 1
        self.calls, self.results = calls, results
        for result in results:
            if result.status in _FAILED:
                self.failures.setdefault(result.tool, Failures()).add(result.text)
            elif self.failures and result.status not in _UNMADE:
                self.failures.pop(result.tool, None)
        self.calm = self.turns.count < 2 and self.texts.count < 2 and not self.failures

    def hear(self) -> None:
        """Somebody said something: what the model does after it has a reason of its own."""
        self.calls, self.results, self.failures = (), (), {}
        self.turns, self.outcomes = Streak(), Streak()
        self.text, self.texts = "", Streak()

    def tell(self, tool: str | None) -> None:
        """The model is told of its equal turns, or of a tool that fails."""
        if tool is None:
            self.turns.tell()
            self.outcomes.tell()
        elif tool in self.failures:
            self.failures[tool].streak.tell()
            self.failures[tool].alike.tell()


def _place(call: Call) -> tuple[str, str]:
    """Where a call stands among those of its turn, in whatever order they came."""
    return call.name, json.dumps([call.arguments, call.malformed, call.misnamed], sort_keys=True)


def _are_equal(calls: Sequence[Call], others: Sequence[Call]) -> bool:
    if len(calls) != len(others):
        return False
    for call, other in zip(calls, others, strict=True):
        if call.name != other.name or call.arguments != other.arguments:
            return False
        if call.malformed != other.malformed or call.misnamed != other.misnamed:
            return False
    return True


def _are_alike(results: Sequence[ToolMessage], others: Sequence[ToolMessage]) -> bool:
    pairs = zip(results, others, strict=True)
    return all(one.status == other.status and one.text == other.text for one, other in pairs)
