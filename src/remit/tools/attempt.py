"""One try of one call, which ends once, in time or not."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Generator
from typing import Any, Protocol

from remit.values.clock import Clock, SystemClock


class Work(Protocol):
    """What runs a call."""

    @property
    def stops(self) -> bool:
        """Whether being asked to end makes it end soon, as a rule."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether it may still act when nobody waits for it any more."""
        ...

    def stop(self) -> None:
        """Ask it to end."""
        ...

    def cut(self) -> None:
        """End it for good, as far as that can be done."""
        ...


class Alarm(Protocol):
    """Something that rings later unless it is cancelled."""

    def cancel(self) -> object: ...


class Attempt:
    """A call under way: its `work`, and in the end its `value` or its `error`.

    `finish` makes of what the call returned what `value` shall be, where the call ran. Whatever
    the call raises ends here and never reaches the loop.
    """

    __slots__ = ("error", "finish", "loop", "name", "on_end", "over", "value", "waiter", "work")

    def __init__(self, name: str, finish: Callable[[Any], Any]) -> None:
        self.name = name
        self.finish = finish
        self.loop = asyncio.get_running_loop()
        self.over = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.work: Work
        self.waiter: asyncio.Future[None] | None = None
        self.on_end: Callable[[Attempt], object] | None = None

    async def ends(self, seconds: float | None, clock: Clock) -> bool:
        """Wait until it is over, at most `seconds` of the clock; whether it is."""
        if not self.over:
            # A quick one ends while the loop goes round once, and then no alarm need be set.
            await _a_round()
        if self.over:
            return True
        self.waiter = waiter = self.loop.create_future()
        alarm = None if seconds is None else _alarm(clock, seconds, waiter)
        try:
            await waiter
        finally:
            if alarm is not None:
                alarm.cancel()
        return self.over

    def forget(self) -> None:
        """Let go of what ran it, which holds this in turn: without the circle both are freed at
        once, and not by the collector. Only for one that is over."""
        if self.over:
            del self.work

    def settle(self, value: Any, error: BaseException | None) -> None:
        """It is over. Only the first end counts."""
        if self.over:
            return
        self.over, self.value, self.error = True, value, error
        if self.waiter is not None:
            _wake(self.waiter)
        if self.on_end is not None:
            self.on_end(self)


@types.coroutine
def _a_round() -> Generator[None, None, None]:
    """Wait until the loop has gone round once."""
    yield


def _alarm(clock: Clock, seconds: float, waiter: asyncio.Future[None]) -> Alarm:
    loop = waiter.get_loop()
    if type(clock) is SystemClock:
        # Its sleep is the loop's timer, which costs no task.
        return loop.call_later(seconds, _wake, waiter)
    return loop.create_task(_ring(clock, seconds, waiter))


async def _ring(clock: Clock, seconds: float, waiter: asyncio.Future[None]) -> None:
    await clock.sleep(seconds)
    _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
