"""What is left of a run's time at work."""

from __future__ import annotations

import asyncio
import math


class Time:
    """The time that a run has left for one move. `above` is that of its outer agent's move, within
    which it stays. While it waits for a call that another process may still be making it does no
    work, so such a wait moves the end."""

    def __init__(self, seconds: float | None, above: Time | None = None) -> None:
        self.limit = None if seconds is None else asyncio.timeout(seconds)
        self._above = above
        bounded = self.limit is not None or (above is not None and above.ends is not None)
        self.ends: Time | None = self if bounded else None
        """Itself; None where neither it nor its outer agent has an end."""
        self._waited = 0.0

    def expired(self) -> bool:
        """Whether its end has come, or its outer agent's."""
        if self.limit is not None and self.limit.expired():
            return True
        return self._above is not None and self._above.expired()

    def left(self) -> float:
        """How many seconds there are until its end, or its outer agent's."""
        above = math.inf if self._above is None else self._above.left()
        end = self.limit and self.limit.when()
        return above if end is None else min(above, end - asyncio.get_running_loop().time())

    def extend(self, seconds: float) -> None:
        """Give the move `seconds` more. Waits side by side count once, as the longest of them."""
        if self._above is not None:
            self._above.extend(seconds)
        end = self.limit and self.limit.when()
        if self.limit and end is not None and seconds > self._waited:
            self.limit.reschedule(end + seconds - self._waited)
            self._waited = seconds
