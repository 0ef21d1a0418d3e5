"""One try of one call, in a task or on a thread, that can be stopped and left behind."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Protocol

from remit.tools.context import log
from remit.tools.threads import Threads
from remit.values.clock import Clock, SystemClock


class Alarm(Protocol):
    """Something that rings later unless it is cancelled."""

    def cancel(self) -> object: ...


class Attempt:
    """A call under way. It ends once: with what `finish` made of its value, or with an error.

    What the call raises, whatever it is, ends here and never reaches the loop.
    """

    __slots__ = ("error", "finish", "left_behind", "loop", "name", "over", "value", "waiter")

    def __init__(self, name: str, finish: Callable[[Any], Any]) -> None:
        self.name = name
        self.finish = finish
        self.loop = asyncio.get_running_loop()
        self.over = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.waiter: asyncio.Future[None] | None = None
        self.left_behind: Callable[[Attempt], object] | None = None

    @property
    def stops(self) -> bool:
        """Whether being asked to end makes it end soon, as a rule."""
        return True

    async def ends(self, seconds: float | None, clock: Clock) -> bool:
        """Wait until it is over, at most `seconds` of the clock; whether it is."""
        if not self.over:
            # A quick one ends while the loop goes round once, and then no alarm need be set.
            await asyncio.sleep(0)
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

    def stop(self) -> None:
        """Ask it to end."""

    def cut(self) -> None:
        """End it for good, as far as that can be done."""

    def drop(self) -> None:
        """Its value is of no use to anybody."""
        if inspect.iscoroutine(self.value):
            self.value.close()
        self.value = None

    def settle(self, value: Any, error: BaseException | None) -> None:
        """It is over. Only the first end counts."""
        if self.over:
            return
        self.over, self.value, self.error = True, value, error
        if self.waiter is not None:
            _wake(self.waiter)
        if self.left_behind is not None:
            self.left_behind(self)


class InTask(Attempt):
    """A call whose awaitable runs in a task of its own; `of` is the attempt that it ends."""

    __slots__ = ("is_cut", "of", "task", "threads")

    def __init__(
        self,
        name: str,
        call: Callable[[], Awaitable[Any]],
        finish: Callable[[Any], Any],
        threads: Threads,
        of: Attempt | None = None,
    ) -> None:
        Attempt.__init__(self, name, finish)
        self.threads = threads
        self.of = of or self
        self.is_cut = False
        self.task = self.loop.create_task(self._run(call))

    async def _run(self, call: Callable[[], Awaitable[Any]]) -> None:
        try:
            awaitable = call()
            if not isinstance(awaitable, types.CoroutineType):
                awaitable = _as_coroutine(awaitable)
            value = self.finish(await Leash(awaitable, self))
        except BaseException as error:
            self.of.settle(None, error)
        else:
            self.of.settle(value, None)

    def stop(self) -> None:
        """Cancel it."""
        # One that is cancelled before its first step never gets as far as settling itself.
        self.task.add_done_callback(self._ended)
        self.task.cancel()

    def cut(self) -> None:
        """Never resume it again, whatever it does with a cancel."""
        self.is_cut = True
        self.task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.of.settle(None, asyncio.CancelledError())


class OnThread(Attempt):
    """A call whose function runs on a thread, which nothing can stop.

    What the function returns is awaited on the loop where it asks for it.
    """

    __slots__ = ("inner", "stopped", "threads")

    def __init__(
        self, name: str, call: Callable[[], Any], finish: Callable[[Any], Any], threads: Threads
    ) -> None:
        Attempt.__init__(self, name, finish)
        self.threads = threads
        self.inner: InTask | None = None
        self.stopped = False
        threads.run(partial(contextvars.copy_context().run, self._run, call))

    @property
    def stops(self) -> bool:
        """Not while the thread is at work."""
        return self.inner is not None

    def stop(self) -> None:
        """Cancel what the function gave to await; the thread itself goes on."""
        self.stopped = True
        if self.inner is not None:
            self.inner.stop()

    def cut(self) -> None:
        """Never resume what the function gave to await."""
        if self.inner is not None:
            self.inner.cut()

    def _run(self, call: Callable[[], Any]) -> None:
        value, raised = None, None
        end: Callable[[Any, BaseException | None], None] = self.settle
        try:
            value = call()
            if inspect.isawaitable(value):
                end = self._go_on
            else:
                value = self.finish(value)
        except BaseException as error:
            raised = error
        try:
            self.loop.call_soon_threadsafe(end, value, raised)
        except RuntimeError:
            # The loop is closed: nobody waits, and what would wake somebody must not be touched.
            self.waiter = None
            self.settle(value, raised)
            self.drop()

    def _go_on(self, awaitable: Any, error: BaseException | None) -> None:
        if self.stopped:
            self.settle(awaitable, None)
            return
        self.inner = InTask(self.name, lambda: awaitable, self.finish, self.threads, of=self)


class Leash:
    """Drives a coroutine as `await` does, but can stop driving it.

    A coroutine that answers every cancel by going on would act on after its run was let go, and
    hold the loop's shutdown for ever, since that waits for all tasks.
    """

    __slots__ = ("attempt", "coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], attempt: InTask) -> None:
        self.coroutine = coroutine
        self.attempt = attempt

    def __await__(self) -> Generator[Any, Any, Any]:
        resume: Callable[..., Any] = self.coroutine.send
        given: Any = None
        while True:
            try:
                waits_for = resume(given)
            except StopIteration as stop:
                return stop.value
            try:
                given = yield waits_for
                resume = self.coroutine.send
            except BaseException as error:
                if self.attempt.is_cut or isinstance(error, GeneratorExit):
                    self._drop()
                    raise
                resume, given = self.coroutine.throw, error

    def _drop(self) -> None:
        try:
            self.coroutine.close()
        except BaseException:
            # It goes on even now. Were it collected, it would be resumed once more, without a
            # loop, where a sleep fails at once and `while True` spins: so it is never collected.
            _keep(self.coroutine, self.attempt.threads)


def _keep(thing: object, threads: Threads) -> None:
    def hold(held: object = thing) -> None:
        threading.Event().wait()

    try:
        threads.run(hold)
    except RuntimeError:
        log.debug("no thread is left to hold what will not end")


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


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
