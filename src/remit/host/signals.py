"""Ending on SIGTERM, but not in the middle of a step."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from remit.kernel.lease import Leaving
from remit.kernel.tasks import spawn


class Leaver(NamedTuple):
    """Who must leave before the process ends, and the parent of the task that does it."""

    leave: Callable[[], Awaitable[None]]
    tasks: asyncio.TaskGroup


class Termination:
    """On SIGTERM all leavers leave, and then the process ends as it would have. A second SIGTERM
    ends it at once.

    Only where the process has no handler of its own, and on its main thread: nowhere else can
    Python take signals.
    """

    def __init__(self) -> None:
        self._leavers: list[Leaver] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(
        self, leave: Callable[[], Awaitable[None]], tasks: asyncio.TaskGroup
    ) -> Callable[[], None]:
        """Have `leave` called, as a child of `tasks`, on SIGTERM; what undoes this."""
        if not self._listen():
            return _nothing
        leaver = Leaver(leave, tasks)
        self._leavers.append(leaver)
        return partial(self._remove, leaver)

    def _listen(self) -> bool:
        if threading.current_thread() is not threading.main_thread():
            return False
        loop = asyncio.get_running_loop()
        if self._leavers and self._loop is loop:
            return True
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return False
        try:
            loop.add_signal_handler(signal.SIGTERM, self._begin)
        except NotImplementedError:
            return False
        self._leavers, self._loop = [], loop
        return True

    def _remove(self, leaver: Leaver) -> None:
        if leaver in self._leavers:
            self._leavers.remove(leaver)
            if not self._leavers and self._loop is not None:
                self._loop.remove_signal_handler(signal.SIGTERM)

    def _begin(self) -> None:
        assert self._loop is not None
        self._loop.remove_signal_handler(signal.SIGTERM)
        for leaver in list(self._leavers):
            try:
                spawn(leaver.tasks, self._leave(leaver))
            except Leaving:
                self._left(leaver)

    async def _leave(self, leaver: Leaver) -> None:
        try:
            await leaver.leave()
        finally:
            self._left(leaver)

    def _left(self, leaver: Leaver) -> None:
        if leaver in self._leavers:
            self._leavers.remove(leaver)
        if not self._leavers:
            os.kill(os.getpid(), signal.SIGTERM)


TERMINATION = Termination()
"""A signal is the whole process's, and so is this."""


def _nothing() -> None:
    """There is nothing to undo."""
