"""A coroutine that can be left for good, whatever it does with a cancel."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from remit.tools.threads import Threads


class Leash:
    """Drives a coroutine as `await` does, until it is `cut`: the next cancel then ends it here.

    A coroutine that answers every cancel by going on would act on after its run was let go, and
    hold the loop's shutdown for ever, since that waits for all tasks.
    """

    __slots__ = ("coroutine", "is_cut", "threads")

    def __init__(self, awaitable: Awaitable[Any], threads: Threads) -> None:
        self.coroutine: Coroutine[Any, Any, Any] = (
            awaitable if isinstance(awaitable, types.CoroutineType) else _awaiting(awaitable)
        )
        self.threads = threads
        self.is_cut = False

    def __await__(self) -> Generator[Any, Any, Any]:
        send: Callable[..., Any] = self.coroutine.send
        resume, given = send, None
        while True:
            try:
                waits_for = resume(given)
            except StopIteration as stop:
                return stop.value
            try:
                given = yield waits_for
                resume = send
            except BaseException as error:
                if self.is_cut or isinstance(error, GeneratorExit):
                    self._drop()
                    raise
                resume, given = self.coroutine.throw, error

    def _drop(self) -> None:
        try:
            self.coroutine.close()
        except BaseException:
            # It goes on even now. Were it collected, it would be resumed once more, without a
            # loop, where a sleep fails at once and `while True` spins: so it is never collected.
            self.threads.keep(self.coroutine)


async def _awaiting(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
