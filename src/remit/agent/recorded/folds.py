"""What folds are recorded, and the history as they leave it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from remit.kernel.facts import Dated
from remit.kernel.paid import Bill, Paid
from remit.values.content import Text
from remit.values.messages import Message, ToolMessage, UserMessage
from remit.values.usage import Usage

CLEARED = "(This result was read before, and is cleared to save room.)"
_BRIEF = "A brief of what was said and done before this, which it stands in for:\n\n"
_replace = msgspec.structs.replace


class Cleared(Dated, frozen=True, kw_only=True, omit_defaults=True, tag="fold", tag_field="t"):
    """What a fold does: the results of these `calls` are cleared, those of `kept` are not, and a
    brief is to stand in for the first `covers` messages, if any.

    `read` and `estimate` are what the newest request read and what it had been estimated at: from
    then on estimates are taken in this proportion.
    """

    number: int
    calls: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    covers: int = 0
    read: int = 1
    estimate: int = 1

    @property
    def format(self) -> int:
        return 2


class Brief(Paid, frozen=True, kw_only=True, omit_defaults=True, tag="brief", tag_field="t"):
    """The brief of the fold `number`, which stands in for the first `covers` messages."""

    number: int
    covers: int
    text: str
    model: str
    usage: Usage

    @property
    def bill(self) -> Bill:
        return Bill(self.usage, self.model, "brief")

    @property
    def format(self) -> int:
        return 2


@dataclass(slots=True)
class Folds:
    """The folds of a conversation so far."""

    cleared: set[str] = field(default_factory=set)
    brief: Brief | None = None
    last: Cleared | None = None
    count: int = 0
    records: int = 0
    turn: int = 0
    """How many turns there were when the last one was recorded."""

    def add(self, fold: Cleared | Brief, turn: int) -> None:
        """Take the next record."""
        self.turn = turn
        self.records += 1
        if isinstance(fold, Cleared):
            self.cleared.update(fold.calls)
            self.last = fold
            self.count += 1
        else:
            self.brief = fold if fold.text.strip() else self.brief
            if self.last is not None:
                self.last = _replace(self.last, covers=0)

    @property
    def due(self) -> Cleared | None:
        """The fold whose brief is still to be written."""
        return self.last if self.last is not None and self.last.covers else None

    def after(self, earlier: Folds) -> Folds:
        """These, of a run that comes after `earlier` ones on its thread."""
        return Folds(
            cleared=earlier.cleared | self.cleared,
            brief=self.brief or earlier.brief,
            last=self.last,
            count=self.count,
            records=self.records,
            turn=self.turn,
        )


def view(messages: Sequence[Message], folds: Folds, own: int) -> tuple[Message, ...]:
    """`messages` as the folds leave them. The first task, and the run's own at `own`, stay word
    for word."""
    if not folds.cleared and folds.brief is None:
        return tuple(messages)
    rest = messages
    opening: tuple[Message, ...] = ()
    if folds.brief is not None:
        covers = folds.brief.covers
        tasks = (messages[at] for at in tasks_of(messages, own) if at < covers)
        opening = (*tasks, UserMessage((Text(f"{_BRIEF}{folds.brief.text}"),)))
        rest = messages[covers:]
    return (*opening, *(cleared(message, folds.cleared) for message in rest))


def tasks_of(messages: Sequence[Message], own: int) -> tuple[int, ...]:
    """Where the first task stands, and the run's own."""
    first = next((at for at, one in enumerate(messages) if isinstance(one, UserMessage)), None)
    found = {first} if first is not None else set()
    if own < len(messages) and isinstance(messages[own], UserMessage):
        found.add(own)
    return tuple(sorted(found))


def cleared(message: Message, calls: Iterable[str]) -> Message:
    """The message, its text cleared if it is the result of one of `calls`."""
    if isinstance(message, ToolMessage) and message.call_id in calls:
        return _replace(message, text=CLEARED)
    return message
