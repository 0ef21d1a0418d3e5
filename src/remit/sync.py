"""One loop thread for scripts and notebooks."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

from remit.values.errors import ConfigError

T = TypeVar("T")

_log = logging.getLogger("remit")
_THREAD = "remit-run-sync"
_FIRST = threading.Lock()


class _Caught(NamedTuple):
    """What a coroutine came to. Raised on the loop, SystemExit would end it for everyone."""

    value: Any
    error: BaseException | None


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` to its end and give back its value.

    All calls share one loop on a thread of the library's own, so that what one call started
    goes on in the next. An interrupt cancels the coroutine. Raises ConfigError on that thread.
    """
    if not inspect.iscoroutine(coroutine):
        raise ConfigError(f"run_sync takes a coroutine, like agent.run(…), not {coroutine!r:.200}")
    if threading.current_thread().name == _THREAD:
        coroutine.close()
        raise ConfigError("run_sync was called from async code: await the coroutine instead")
    future = asyncio.run_coroutine_threadsafe(_catch(coroutine), _loop())
    try:
        caught = future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
    if caught.error is not None:
        raise caught.error
    return cast(T, caught.value)


async def _catch(coroutine: Coroutine[Any, Any, Any]) -> _Caught:
    try:
        return _Caught(await coroutine, None)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return _Caught(None, error)


def _loop() -> asyncio.AbstractEventLoop:
    # A cache alone would make two loops for two threads that come first at once.
    with _FIRST:
        return _made(os.getpid())


@cache
def _made(process: int) -> asyncio.AbstractEventLoop:
    """The loop of this process: a forked child has the parent's without its thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run, args=(loop,), name=_THREAD, daemon=True).start()
    return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException as error:
            _log.error("a task of run_sync's loop raised %r; the loop goes on", error)
