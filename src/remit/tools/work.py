"""The two ways of running a call: in a task, and on a thread."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from remit.tools.attempt import Attempt
from remit.tools.leash import Leash
from remit.tools.threads import Threads


@dataclass(frozen=True, slots=True)
class Given:
    """An awaitable that is there already, as a call that gives it."""

    awaitable: Any

    def __call__(self) -> Any:
        return self.awaitable

    def close(self) -> None:
        """It will not be awaited."""
        if inspect.iscoroutine(self.awaitable):
            self.awaitable.close()


class InTask:
    """Runs what a call gives to await in a task of its own."""

    __slots__ = ("attempt", "call", "leash", "task", "threads")

    stops = True
    goes_on = False

    def __init__(
        self, attempt: Attempt, call: Callable[[], Awaitable[Any]], threads: Threads
    ) -> None:
        self.attempt = attempt
        self.call = call
        self.threads = threads
        self.leash: Leash | None = None
        self.task = attempt.loop.create_task(self._run())

    async def _run(self) -> None:
        try:
            self.leash = Leash(self.call(), self.threads)
            value = self.attempt.finish(await self.leash)
        except BaseException as error:
            self.attempt.settle(None, error)
        else:
            self.attempt.settle(value, None)

    def stop(self) -> None:
        """Cancel it."""
        # Cancelled before its first step, it never gets as far as settling.
        self.task.add_done_callback(self._ended)
        self.task.cancel()

    def cut(self) -> None:
        """Never resume it again, whatever it does with a cancel."""
        if self.leash is not None:
            self.leash.is_cut = True
        self.task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self.leash is None and isinstance(self.call, Given):
            self.call.close()
        self.attempt.settle(None, asyncio.CancelledError())


class OnThread:
    """Runs a call on a thread, which nothing can stop, and what it gives to await on the loop."""

    __slots__ = ("attempt", "inner", "stopped", "threads")

    def __init__(self, attempt: Attempt, call: Callable[[], Any], threads: Threads) -> None:
        self.attempt = attempt
        self.threads = threads
        self.inner: InTask | None = None
        self.stopped = False
        threads.run(partial(contextvars.copy_context().run, self._run, call))

    @property
    def stops(self) -> bool:
        """Not while the thread is at work."""
        return self.inner is not None

    @property
    def goes_on(self) -> bool:
        """Until the thread is done."""
        return not self.attempt.over and self.inner is None

    def stop(self) -> None:
        """Cancel what the call gave to await; the thread itself goes on."""
        self.stopped = True
        if self.inner is not None:
            self.inner.stop()

    def cut(self) -> None:
        """Never resume what the call gave to await."""
        if self.inner is not None:
            self.inner.cut()

    def _run(self, call: Callable[[], Any]) -> None:
        attempt, value, raised = self.attempt, None, None
        end: Callable[[Any, BaseException | None], None] = attempt.settle
        try:
            value = call()
            if inspect.isawaitable(value):
                end = self._go_on
            else:
                value = attempt.finish(value)
        except BaseException as error:
            raised = error
        try:
            attempt.loop.call_soon_threadsafe(end, value, raised)
        except RuntimeError:
            # The loop is closed: nobody waits, and what would wake somebody must not be touched.
            attempt.waiter = None
            attempt.settle(None, raised)
            Given(value).close()

    def _go_on(self, awaitable: Any, error: BaseException | None) -> None:
        if self.stopped:
            self.attempt.settle(awaitable, None)
            return
        self.inner = InTask(self.attempt, Given(awaitable), self.threads)


def in_task(
    name: str,
    call: Callable[[], Awaitable[Any]],
    finish: Callable[[Any], Any],
    threads: Threads,
) -> Attempt:
    """An attempt of a call that gives something to await."""
    attempt = Attempt(name, finish)
    attempt.work = InTask(attempt, call, threads)
    return attempt


def on_thread(
    name: str, call: Callable[[], Any], finish: Callable[[Any], Any], threads: Threads
) -> Attempt:
    """An attempt of a call that blocks. Raises RuntimeError where the system has no thread left."""
    attempt = Attempt(name, finish)
    attempt.work = OnThread(attempt, call, threads)
    return attempt
