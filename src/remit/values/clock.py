"""Time as a parameter, so that tests own it."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Three questions about time. All values are seconds."""

    def wall(self) -> float:
        """Seconds since 1970, for people and due times; may jump."""
        ...

    def steady(self) -> float:
        """Seconds that never jump back and go on while the machine sleeps, for leases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of this clock."""
        ...


class SystemClock:
    """The machine's own time. `steady` counts from its start, the same in every process."""

    def wall(self) -> float:
        return time.time()

    def steady(self) -> float:
        return steady()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def steady() -> float:
    """Seconds since the machine started, sleep included where the system tells them."""
    return time.clock_gettime(_BOOT) if _BOOT is not None else time.monotonic()


_BOOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)
