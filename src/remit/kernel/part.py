"""Facts that are to be stored together, in one append."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from remit.kernel.facts import AnyFact, format_of
from remit.kernel.paid import settlement
from remit.store.money import Settlement
from remit.values import codec

Hear = Callable[[int, AnyFact], None]
"""Told of a fact as soon as it is stored, whatever became of who wanted it recorded."""


def unheard(seq: int, fact: AnyFact) -> None:
    """Nobody need be told."""


class Part(NamedTuple):
    """Facts that are to be stored together: with their bodies, the lowest format whose readers
    understand them all, who is told once they are stored, and what the ledger is to be told."""

    facts: Sequence[AnyFact]
    bodies: tuple[bytes, ...]
    format: int
    hear: Hear = unheard
    settles: tuple[Settlement, ...] = ()

    @classmethod
    def of(cls, facts: Sequence[AnyFact], hear: Hear = unheard, by: str | None = None) -> Part:
        bodies = tuple([codec.encode(fact) for fact in facts])
        told = [settlement(fact, by) for fact in facts]
        settles = tuple([each for each in told if each is not None])
        return cls(facts, bodies, max(map(format_of, facts)), hear, settles)


def together(parts: Sequence[Part]) -> Part:
    """One part of several, in their order."""
    if len(parts) == 1:
        return parts[0]
    facts = [fact for part in parts for fact in part.facts]
    bodies = tuple([body for part in parts for body in part.bodies])
    ears = {id(fact): part.hear for part in parts for fact in part.facts}
    format = max([part.format for part in parts])
    settles = tuple([each for part in parts for each in part.settles])
    return Part(facts, bodies, format, lambda seq, fact: ears[id(fact)](seq, fact), settles)
