"""Whether a commit may be made on the event loop's thread."""

from __future__ import annotations

QUICK = 0.002
"""How many seconds a commit may keep the loop from its other work."""

LEAST = 8
_MOST = 1024


class Pace:
    """Counts commits that were quick and had the database to themselves.

    A commit is made on the loop only after enough of them in a row. One on the loop that was
    slow all the same doubles how many it takes, and as many quick ones take that back.
    """

    def __init__(self) -> None:
        self._needed = LEAST
        self._row = 0

    @property
    def allows(self) -> bool:
        """Whether the next commit would be quick, and alone, by all that is known."""
        return self._row >= self._needed

    def note(self, seconds: float, *, on_loop: bool) -> None:
        """A commit took so long."""
        if seconds < QUICK:
            self._row += 1
            if self._row >= _MOST:
                self._row = self._needed = LEAST
            return
        self._row = 0
        if on_loop:
            self._needed = min(self._needed * 2, LEAST * 16)

    def crowded(self) -> None:
        """Several callers came at once, or one while another was being served."""
        self._row = 0
