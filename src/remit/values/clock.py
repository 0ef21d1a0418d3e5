"""Time as a parameter, so that tests own it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
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


def counted(clock: Clock, wall: float) -> Callable[[], float]:
    """A wall time that was told to be `wall` just now, counted on by the clock's steady time:
    whose clock is wrong then goes by whose was asked."""
    began, steady = clock.steady(), clock.steady
    return lambda: wall + (steady() - began)


def _steady_time() -> Callable[[], float]:
    boot: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic if boot is None else partial(time.clock_gettime, boot)


_steady = _steady_time()


class SystemClock:
    """The machine's own time. `steady` counts from its start, the same in every process."""

    wall = staticmethod(time.time)
    steady = staticmethod(_steady)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
