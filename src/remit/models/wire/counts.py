"""Counts of tokens as servers report them, and what stands for those that they do not."""

from __future__ import annotations

import json
import math
from typing import Any

from msgspec.structs import replace

from remit.values.usage import Usage

MOST = 10**9
"""More tokens than any answer reaches."""
MOST_PARTS = 500
"""More calls, blocks or items than an answer has; readers look through all of them."""
_BYTES_A_TOKEN = 3


def too_many(found: int, what: str) -> dict[str, str] | None:
    """What an adapter reports instead of an answer of more than `MOST_PARTS`; None for fewer."""
    if found <= MOST_PARTS:
        return None
    return {"message": f"the answer holds more than {MOST_PARTS} {what}"}


class Counts:
    """Reads counts, and notes whether one was odd."""

    def __init__(self) -> None:
        self.odd = False

    def read(self, value: object) -> int | None:
        """`value` as a whole number from 0 to `MOST`, clamped if it is another; None for what is
        no number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        # The comparison comes first: a whole number may be too large to be a float.
        count = int(value) if 0 <= value <= MOST else MOST if MOST < value < math.inf else 0
        self.odd = self.odd or count != value
        return count

    def first(self, report: dict[str, Any], *names: str) -> int | None:
        """The first of the named counts that is there."""
        found = (self.read(report.get(name)) for name in names)
        return next((count for count in found if count is not None), None)

    def at_most(self, count: int, whole: int) -> int:
        """`count`, or the `whole` that it must be a part of."""
        self.odd = self.odd or count > whole
        return min(count, whole)


def guess_usage(sent_bytes: int, made_bytes: int) -> Usage:
    """An estimate for a server that reports nothing: a token for every three bytes, which is
    more than most texts have."""
    return Usage(
        input_tokens=math.ceil(sent_bytes / _BYTES_A_TOKEN),
        output_tokens=math.ceil(made_bytes / _BYTES_A_TOKEN),
        estimated=True,
    )


def filled(told: Usage | None, asked: object, made_bytes: int, *, cut: bool = False) -> Usage:
    """`told` with an estimate for each part that the server left out: of input there is always
    some, since something was `asked`, and of output there is where bytes were made. Of an answer
    that was `cut` no more than a part was told."""
    if (
        told is not None
        and not cut
        and told.input_tokens
        and (told.output_tokens or not made_bytes)
    ):
        return told
    guess = guess_usage(len(json.dumps(asked, ensure_ascii=False).encode()), made_bytes)
    if told is None:
        return guess
    return replace(
        told,
        input_tokens=told.input_tokens or guess.input_tokens,
        output_tokens=max(told.output_tokens, guess.output_tokens)
        if cut
        else told.output_tokens or guess.output_tokens,
        estimated=True,
    )
