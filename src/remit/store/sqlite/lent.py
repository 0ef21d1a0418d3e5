"""The connection that writes, which is lent to effects and stays the store's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Lent(sqlite3.Connection):
    """A connection that only the store can close. While it is out, who has it cannot change what
    guards it either."""

    _attempts: list[str | None] | None = None

    @contextmanager
    def out(self, attempts: list[str | None]) -> Iterator[None]:
        """While this lasts somebody else has it; `attempts` gets what was refused."""
        self._attempts = attempts
        try:
            yield
        finally:
            self._attempts = None

    def close(self) -> None:
        """Raises sqlite3.ProgrammingError: the store closes it."""
        self._refuse("close()")

    def shut(self) -> None:
        """Close it; for the store."""
        super().close()

    def set_authorizer(self, *given: Any, **named: Any) -> None:
        """As that of any connection, for the store alone."""
        if self._attempts is not None:
            self._refuse("set_authorizer()")
        super().set_authorizer(*given, **named)

    def _refuse(self, what: str) -> None:
        if self._attempts is not None:
            self._attempts.append(what)
        raise sqlite3.ProgrammingError(f"{what} is refused: this connection is the store's")
