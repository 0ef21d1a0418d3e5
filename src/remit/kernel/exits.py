"""Telling a wish to end the process from an error of the code that it came out of."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any


def ends_process(error: BaseException) -> bool:
    """Whether `error` was raised by a signal, such as Ctrl-C, wherever the code then was.

    A KeyboardInterrupt that came where Python itself raises it for SIGINT is always taken for
    one, since nothing in it tells.
    """
    if not isinstance(error, KeyboardInterrupt | SystemExit):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    by_python = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if by_python and isinstance(error, KeyboardInterrupt):
        return True
    handlers = _handlers()
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code in handlers for frame, _ in frames)


def is_error(error: BaseException) -> bool:
    """Whether code raised `error` for a reason of its own, and not to be let go or stopped."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return not ends_process(error)
    return isinstance(error, Exception)


def _handlers() -> set[Any]:
    """The code of the functions that this process's signals call."""
    found = (_code(signal.getsignal(one)) for one in signal.valid_signals())
    return {code for code in found if code is not None}


def _code(handler: Callable[..., Any] | int | None) -> Any:
    called = getattr(handler, "func", handler)
    called = getattr(called, "__func__", called)
    return getattr(called, "__code__", None)
