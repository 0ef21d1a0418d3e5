"""Waiting for people: questions that leave a run, and answers that come back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from remit.kernel.facts import Ask
from remit.values.errors import LetGo
from remit.values.identity import Caller


class PauseWanted(LetGo):
    """The run has nothing left to do until its questions are answered."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        super().__init__()
        self.asks = tuple(asks)


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody answered, as it lies in the store until the run takes it. `at` is
    milliseconds since 1970."""

    value: Any
    by: Caller | None
    at: int
