"""Ending on SIGTERM, but not in the middle of a step."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable


def on_terminate(
    leave: Callable[[], Awaitable[None]], tasks: asyncio.TaskGroup
) -> Callable[[], None]:
    """On SIGTERM run `leave` first, and then end as the process would have; what undoes this.

    Only where the process has no handler of its own, and on its main thread: nowhere else can
    Python take signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return _nothing
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return _nothing
    loop = asyncio.get_running_loop()

    async def leave_and_end() -> None:
        try:
            await leave()
        finally:
            forget()
            os.kill(os.getpid(), signal.SIGTERM)

    def begin() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tasks.create_task(leave_and_end())

    def forget() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    try:
        loop.add_signal_handler(signal.SIGTERM, begin)
    except NotImplementedError:
        return _nothing
    return forget


def _nothing() -> None:
    """There is nothing to undo."""
