"""A command's coroutine run to its end, also where the caller's thread runs a loop already."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
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

    async def telling() -> T:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1, thread_name_prefix="remit-cli") as pool:
        # Output may be led by the context, as a notebook's is to its cell.
        future = pool.submit(contextvars.copy_context().run, asyncio.run, telling())
        try:
            return future.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel if task else loop.stop)
            raise
