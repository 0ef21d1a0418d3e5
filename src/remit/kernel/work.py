"""What a run does inside a transaction of its store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from remit.kernel.facts import Stepped, format_of
from remit.values import codec

Make = Callable[[Any], Stepped | Awaitable[Stepped]]
"""Gives the step that is to be recorded in a transaction, or what is awaited for it."""
STEP_FORMAT = format_of(Stepped(at=0, name="", value=None))


class Raised(Exception):
    """What was to be recorded could not be made, or cannot be stored, for the reason `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Work:
    """What is given to a store that transacts: it makes the `fact` and gives its entry.

    It raises Raised alone, so that no error of its own is taken for one of the store's.
    """

    def __init__(self, make: Make) -> None:
        self.calls = 0
        """How often it was begun."""
        self.fact: Stepped | None = None
        self._make = make

    def __call__(self, tx: Any) -> tuple[bytes, ...] | Awaitable[tuple[bytes, ...]]:
        self.calls += 1
        try:
            made = self._make(tx)
            return self._entries(made) if isinstance(made, Stepped) else self._awaited(made)
        except Exception as error:
            raise Raised(error) from error

    async def _awaited(self, made: Awaitable[Stepped]) -> tuple[bytes, ...]:
        try:
            return self._entries(await made)
        except Exception as error:
            raise Raised(error) from error

    def _entries(self, fact: Stepped) -> tuple[bytes, ...]:
        self.fact = fact
        return (codec.encode(fact),)
