"""What would not stop when it was asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from remit.tools.attempt import Attempt
from remit.tools.context import log
from remit.tools.threads import Threads
from remit.tools.work import Given
from remit.values.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """How many calls were ever left behind, and how many of them still go on: threads, which
    nothing can end."""

    count: int
    going: int


class Abandoned:
    """Owns what is left of calls that did not end in time.

    One for each app, or for each run without an app. It brings the threads that sync tools run
    on. `count` is how many calls were ever left behind.
    """

    def __init__(self, threads: Threads | None = None) -> None:
        self.threads = threads or Threads()
        self.count = 0
        self.bounds: dict[object, float] = {}
        """How many seconds each call that runs may take, where it has a limit."""
        self._left: set[Attempt] = set()

    @property
    def longest(self) -> float:
        """The longest timeout of what runs, in seconds; asked from any thread."""
        return max(list(self.bounds.values()), default=0.0)

    @property
    def going(self) -> int:
        """How many of them still go on: threads, which nothing can end."""
        return len(self._left)

    @property
    def left_behind(self) -> LeftBehind:
        """Both counts as they are."""
        return LeftBehind(self.count, self.going)

    async def bound(
        self,
        attempt: Attempt,
        seconds: float | None,
        grace: float,
        clock: Clock,
        stopping: Callable[[], object],
    ) -> bool:
        """Whether `attempt` ended by itself within `seconds`; else it is stopped.

        `stopping` is called before it is. It then has `grace` seconds to end, a thread only when
        this call is cancelled. After that, or when this call is cancelled once more, a coroutine
        is never resumed again and a thread is left behind.
        """
        stopped = False
        if seconds is not None:
            self.bounds[attempt] = seconds
        try:
            if await attempt.ends(seconds, clock):
                return True
            stopped = True
            stopping()
            attempt.work.stop()
            if attempt.work.stops:
                await attempt.ends(grace, clock)
            return False
        except BaseException as error:
            if not stopped:
                stopped = True
                stopping()
                attempt.work.stop()
                if isinstance(error, asyncio.CancelledError):
                    await attempt.ends(grace, clock)
            raise
        finally:
            self.bounds.pop(attempt, None)
            if stopped:
                self._leave(attempt)

    def _leave(self, attempt: Attempt) -> None:
        if attempt.over:
            Given(attempt.value).close()
            return
        self.count += 1
        self._left.add(attempt)
        attempt.on_end = self._ended
        log.warning("tool %s would not stop and was left behind", attempt.name)
        attempt.work.cut()

    def _ended(self, attempt: Attempt) -> None:
        self._left.discard(attempt)
        Given(attempt.value).close()

    async def close(self, wait: float = 0.0) -> None:
        """Wait at most `wait` seconds for what is left, and let idle threads end.

        A thread that goes on is not waited for by the process's exit either.
        """
        here = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            for attempt in list(self._left):
                if attempt.loop is here:
                    group.create_task(attempt.ends(wait, SystemClock()))
        self.threads.close()
