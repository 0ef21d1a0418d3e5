"""What would not stop when it was asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from remit.tools.attempt import Attempt, log
from remit.tools.threads import Threads
from remit.values.clock import Clock, SystemClock


class Abandoned:
    """Owns the tasks and threads of calls that did not end in time, until they do.

    One for each app, or for each run without an app. It brings the threads that sync tools run
    on. `total` is how many calls were ever left behind.
    """

    def __init__(self, threads: Threads | None = None) -> None:
        self.threads = threads or Threads()
        self.total = 0
        self._left: set[Attempt] = set()

    @property
    def count(self) -> int:
        """How many of them are still going on."""
        return len(self._left)

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
        this call is cancelled, and is left behind where it does not.
        """
        stopped = False
        try:
            if await attempt.ends(seconds, clock):
                return True
            stopped = True
            stopping()
            attempt.stop()
            if attempt.stops:
                await attempt.ends(grace, clock)
            return False
        except BaseException as error:
            if not stopped:
                stopped = True
                stopping()
                attempt.stop()
                if isinstance(error, asyncio.CancelledError):
                    await attempt.ends(grace, clock)
            raise
        finally:
            if stopped:
                self._leave(attempt)

    def _leave(self, attempt: Attempt) -> None:
        if attempt.over:
            attempt.drop()
            return
        self.total += 1
        self._left.add(attempt)
        attempt.left_behind = self._ended
        log.warning("tool %s would not stop and was left behind", attempt.name)

    def _ended(self, attempt: Attempt) -> None:
        self._left.discard(attempt)
        attempt.drop()

    async def close(self, wait: float = 0.0) -> None:
        """Wait at most `wait` seconds for what is left, then end the tasks for good.

        A thread cannot be ended: it goes on, and the process's exit does not wait for it.
        """
        here = asyncio.get_running_loop()
        left = [attempt for attempt in self._left if attempt.loop is here]
        if wait > 0 and left:
            async with asyncio.TaskGroup() as group:
                for attempt in left:
                    group.create_task(attempt.ends(wait, SystemClock()))
        for attempt in left:
            if not attempt.over:
                attempt.stop()
        # A cut task takes one turn of the loop to end and one to say so.
        for _ in range(3):
            await asyncio.sleep(0)
        self.threads.close()
