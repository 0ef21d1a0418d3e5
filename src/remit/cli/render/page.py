"""What a command shows, before it is known who reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "waiting", "dim", "strong"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text and how it is meant."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; `indent` counts steps to the right."""

    text: str
    tone: Tone = "plain"
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """What the blocks below are about."""

    text: str


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and values, one pair a line."""

    pairs: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column. `width` is the least that it takes, so that lists line up; `whole` means
    that its texts are never broken, so that they can be copied."""

    title: str
    width: int = 0
    right: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A table."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


Block = Line | Heading | Fields | Listing


def tone_of_status(status: str) -> Tone:
    """How a run's status is meant."""
    tones: dict[str, Tone] = {
        "succeeded": "good",
        "failed": "bad",
        "cancelled": "bad",
        "paused": "waiting",
        "running": "strong",
    }
    return tones.get(status, "plain")
