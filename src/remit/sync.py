"""One loop thread for scripts and notebooks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

from remit.values.errors import ConfigError

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` to its end and give back its value.

    All calls share one loop on a thread of the library's own, so that what one call started
    goes on in the next. An interrupt cancels the coroutine. Raises ConfigError on that thread.
    """
    loop = _loop()
    if threading.current_thread().name == _THREAD:
        coroutine.close()
        raise ConfigError("run_sync was called from async code: await the coroutine instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


def _loop() -> asyncio.AbstractEventLoop:
    # A cache alone would make two loops for two threads that come first at once.
    with _FIRST:
        return _made()


@cache
def _made() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=_THREAD, daemon=True).start()
    return loop


_THREAD = "remit-run-sync"
_FIRST = threading.Lock()
