"""Times as ratios: each repetition runs the floor and the subject one after the other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Work = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Compared:
    """Medians over the repetitions, in microseconds, and the median of the ratios."""

    subject: float
    floor: float
    ratio: float
    spread: tuple[float, float]


async def compare(
    subject: Work, floor: Work, *, repetitions: int = 9, seconds: float = 0.25, cpu: bool = True
) -> Compared:
    """How `subject` compares with `floor`, by processor time, or by wall time without `cpu`."""
    clock = time.process_time if cpu else time.perf_counter
    counts = [await _count(work, seconds) for work in (subject, floor)]
    rows = []
    for _ in range(repetitions):
        rows.append(
            [await _time(work, n, clock) for work, n in zip((subject, floor), counts, strict=True)]
        )
    ratios = sorted(one / other for one, other in rows)
    return Compared(
        statistics.median(row[0] for row in rows),
        statistics.median(row[1] for row in rows),
        statistics.median(ratios),
        (ratios[0], ratios[-1]),
    )


async def _count(work: Work, seconds: float) -> int:
    await work()
    began = time.perf_counter()
    await work()
    return max(1, min(20_000, round(seconds / max(time.perf_counter() - began, 1e-7))))


async def _time(work: Work, count: int, clock: Callable[[], float]) -> float:
    began = clock()
    for _ in range(count):
        await work()
    return (clock() - began) / count * 1e6
