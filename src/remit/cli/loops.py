"""A command's coroutine run to its end, also where the caller's thread runs a loop already."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
_BEGINS_WITHIN = 5.0
"""Seconds in which a thread that was started has come to its work."""
_Under = tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any] | None"]


def go(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives. In a notebook it runs on a thread of its own, for which the caller's loop
    stands still; an interrupt cancels it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _apart(work)


def _apart(work: Coroutine[Any, Any, T]) -> T:
    begun: Future[_Under] = Future()
    done: Future[T] = Future()

    async def telling() -> T:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    def drive() -> None:
        try:
            done.set_result(asyncio.run(telling()))
        except BaseException as error:
            done.set_exception(error)

    # Output may be led by the context, as a notebook's is to its cell.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(drive,), name="remit-cli", daemon=True)
    try:
        thread.start()
        return done.result()
    except KeyboardInterrupt:
        with suppress(RuntimeError, TimeoutError):  # it has just ended, or never began
            loop, task = begun.result(timeout=_BEGINS_WITHIN)
            loop.call_soon_threadsafe(task.cancel if task else loop.stop)
            done.exception()
        raise
