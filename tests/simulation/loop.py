"""A seeded event loop in virtual time, on which several simulated processes live side by side."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from asyncio import events
from collections.abc import Callable, Coroutine
from itertools import count
from random import Random
from typing import Any, Literal

MACHINE: contextvars.ContextVar[Machine | None] = contextvars.ContextVar("machine", default=None)
"""Whose code is running; None for the world outside of all machines."""

_EPOCH = 1_800_000_000.0


class Machine:
    """A simulated process. A dead one's callbacks are never run again, a frozen one's wait.

    `faults` are what happens to it, each after so many of its callbacks, counted from the start.
    """

    def __init__(self, loop: SimLoop, name: str) -> None:
        self.loop, self.name = loop, name
        self.state: Literal["running", "frozen", "dead"] = "running"
        self.steps = 0
        self.frozen_at = self.thawed_at = -1.0
        self.freezes = 0
        self.faults: list[tuple[int, Callable[[], None]]] = []
        self.held: list[tuple[Machine | None, asyncio.Handle]] = []
        self.context = contextvars.copy_context()
        self.context.run(MACHINE.set, self)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self.loop.create_task(work, context=self.context)

    def die(self) -> None:
        self.state = "dead"

    def freeze(self) -> None:
        if self.state == "running":
            self.state = "frozen"
            self.frozen_at = self.loop.time()
            self.freezes += 1

    def thaw(self) -> None:
        if self.state == "frozen":
            self.state = "running"
            self.thawed_at = self.loop.time()
            self.wake()

    def wake(self) -> None:
        """Give back what waited for it."""
        held, self.held = self.held, []
        self.loop.ready += held

    def fault_due(self) -> Callable[[], None] | None:
        self.steps += 1
        if self.faults and self.faults[0][0] <= self.steps:
            return self.faults.pop(0)[1]
        return None


class MachineClock:
    """One machine's view of the time."""

    def __init__(self, loop: SimLoop, ahead: float = 0.0) -> None:
        self._loop, self._ahead = loop, ahead

    def wall(self) -> float:
        return _EPOCH + self._ahead + self._loop.time()

    def steady(self) -> float:
        return 1_000.0 + self._ahead + self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SimTask(asyncio.Task[Any]):
    """A task whose place in a set does not depend on its address. `born` is when it was made."""

    def __init__(
        self, coro: Coroutine[Any, Any, Any], number: int, born: float, **options: Any
    ) -> None:
        self.number, self.born = number, born
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number


class SimLoop:
    """Runs a callback that is ready, picked by the seed, and moves the time on when none is."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._self: Any = self
        self.ready: list[tuple[Machine | None, asyncio.Handle]] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.errors: list[BaseException] = []
        self.steps = 0
        self.in_order = random.random() < 0.3
        """Whether each machine's own callbacks run in the order in which they became ready."""
        self._now = 0.0
        self._order = count()
        self._timers: list[tuple[float, int, Machine | None, asyncio.TimerHandle]] = []

    def time(self) -> float:
        return self._now

    def run(self, done: Callable[[], bool], until: float, steps: int) -> bool:
        """Step until `done`; False where nothing is left to do before `until`, or within so many
        steps."""
        events._set_running_loop(self._self)
        last = self.steps + steps
        try:
            while not done():
                if self.steps >= last or not (self.ready or self._pass_time(until)):
                    return False
                self._step()
        finally:
            events._set_running_loop(None)
        return True

    def _step(self) -> None:
        ready = self.ready
        at = int(self.random.random() * len(ready))
        if self.in_order:
            owner = ready[at][0]
            at = next(at for at, (other, _) in enumerate(ready) if other is owner)
            owner, handle = ready.pop(at)
        else:
            owner, handle = ready[at]
            ready[at] = ready[-1]
            ready.pop()
        if handle.cancelled():
            return
        if owner is not None:
            if owner.state == "running":
                fault = owner.fault_due()
                if fault is not None:
                    fault()
            if owner.state != "running":
                owner.held.append((owner, handle))
                return
        self.steps += 1
        handle._run()

    def _pass_time(self, until: float) -> bool:
        timers = self._timers
        while timers and timers[0][3].cancelled():
            heapq.heappop(timers)
        if not timers or timers[0][0] > until:
            return False
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            _, _, owner, handle = heapq.heappop(timers)
            self.ready.append((owner, handle))
        return True

    # What asyncio asks of a loop.

    def call_soon(
        self,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._self, context)
        self.ready.append((_owner(context), handle))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self._self, context)
        timer = (max(when, self._now), next(self._order), _owner(context), handle)
        heapq.heappush(self._timers, timer)
        return handle

    def create_task(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Any]:
        number, label = len(self.tasks), str(name or "")
        task = SimTask(coro, number, self._now, loop=self._self, name=label, context=context)
        self.tasks.append(task)
        return task

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self._self)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def add_signal_handler(self, *_: object) -> None:
        raise NotImplementedError

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is skipped when its time comes."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            self.errors.append(error)


def _owner(context: contextvars.Context | None) -> Machine | None:
    return MACHINE.get() if context is None else context.get(MACHINE)
