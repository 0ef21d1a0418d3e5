"""What a tool may know of the run that calls it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Generic

import msgspec
from typing_extensions import TypeVar

from remit.values.clock import Clock, SystemClock

Deps = TypeVar("Deps", default=Any)
Report = Callable[[str | None, float | None], None]

log = logging.getLogger("remit.tools")


class Life:
    """How far a call has come; one flag for each question, so that any thread may look.

    `left_behind` is set where the call is over and its thread still runs.
    """

    __slots__ = ("cancelled", "clock", "left_behind", "loop", "report")

    def __init__(self) -> None:
        self.cancelled = False
        self.left_behind = False
        self.clock: Clock = SystemClock()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.report: Report | None = None

    def begin(self, loop: asyncio.AbstractEventLoop, report: Report | None, clock: Clock) -> None:
        """From here on progress is handed on, and time is this clock's."""
        self.loop, self.report, self.clock = loop, report, clock

    def end(self, *, left_behind: bool) -> None:
        """From here on progress is dropped."""
        self.loop, self.report, self.left_behind = None, None, left_behind

    def cancel(self) -> None:
        """Let the tool see that it should stop."""
        self.cancelled = True

    def tell(self, text: str | None, fraction: float | None) -> None:
        """Hand progress on, unless the call has ended meanwhile; on the loop's thread only."""
        if self.report is None:
            return
        try:
            self.report(text, fraction)
        except Exception:
            log.exception("progress of a tool could not be reported")


class ToolContext(msgspec.Struct, Generic[Deps], frozen=True, kw_only=True, eq=False):
    """Who calls a tool, for whom, and until when.

    A parameter with this annotation is filled in and never shown to the model.
    `idempotency_key` is the same for every attempt of one call and different for every other.
    `deadline` is in seconds of the clock's steady time, and `time_left` counts down to it. `tx`
    is a transactional tool's alone: the `sqlite3` connection, or psycopg's `AsyncConnection`,
    inside the transaction that records the call's result; who commits it is the store. `report`
    is what `progress` calls; `life` belongs to the runtime.
    """

    run_id: str
    turn: int
    call_id: str
    idempotency_key: str
    deps: Deps
    user: str | None = None
    tenant: str | None = None
    grant: frozenset[str] = frozenset()
    attempt: int = 1
    lease_token: int | None = None
    deadline: float | None = None
    tx: Any = None
    report: Report | None = None
    life: Life = msgspec.field(default_factory=Life)

    def __repr__(self) -> str:
        return f"ToolContext(run_id={self.run_id!r}, turn={self.turn}, call_id={self.call_id!r})"

    @property
    def cancelled(self) -> bool:
        """Whether the call should stop: cancelled, timed out, or its lease lost."""
        return self.life.cancelled

    @property
    def time_left(self) -> float | None:
        """How many seconds there are until the deadline, below 0 after it; None without one."""
        return None if self.deadline is None else self.deadline - self.life.clock.steady()

    def progress(self, text: str | None = None, *, fraction: float | None = None) -> None:
        """Tell whoever watches how far the tool has come, from its coroutine or its thread.

        After the call has ended it does nothing. Raises ValueError where `fraction` is not a
        number from 0 to 1, or where there is nothing to tell.
        """
        if fraction is not None and not _is_fraction(fraction):
            raise ValueError(f"fraction must be a number from 0 to 1, not {fraction!r:.80}")
        if text is None and fraction is None:
            raise ValueError("progress tells a text, a fraction or both")
        loop = self.life.loop
        if loop is None:
            return
        if asyncio._get_running_loop() is loop:
            self.life.tell(text, fraction)
            return
        try:
            loop.call_soon_threadsafe(self.life.tell, text, fraction)
        except RuntimeError:
            log.debug("progress of a tool came after its loop was closed")


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
