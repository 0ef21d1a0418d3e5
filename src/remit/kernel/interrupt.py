"""Waiting for people: questions that leave a run, and answers that come back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from remit.kernel.facts import Ask, Paused, check_decoded
from remit.values import codec
from remit.values.errors import LetGo
from remit.values.identity import Caller


class PauseWanted(LetGo):
    """The run has nothing left to do until its questions are answered, until the time `due`
    (milliseconds since 1970), or, if it `listens`, until a message comes."""

    def __init__(
        self, asks: Sequence[Ask] = (), *, due: int | None = None, listens: bool = False
    ) -> None:
        super().__init__()
        self.asks = tuple(asks)
        self.due = due
        self.listens = listens

    def fact(self, at: int) -> Paused:
        """What the journal says of it."""
        return Paused(asks=self.asks, due=self.due, listens=self.listens, at=at)


class Unfit(LetGo):
    """This code cannot drive the run, for `reason`; other code may."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody answered or sent, as it lies in the store until the run takes it. `at` is
    milliseconds since 1970."""

    value: Any
    by: Caller | None
    at: int


def read_answer(body: bytes) -> Answer:
    """The answer that lies in the store. Raises StoreError for one that is still encoded."""
    try:
        return codec.decode(body, Answer)
    except msgspec.DecodeError:
        check_decoded(body)
        raise
