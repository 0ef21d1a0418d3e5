"""Running one tool once: bounded in time, and with every end turned into an outcome."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import msgspec

from remit.tools.abandoned import Abandoned
from remit.tools.context import ToolContext, log
from remit.tools.plain import ResultError
from remit.tools.promise import BrokenPromiseError
from remit.tools.result import cut, render
from remit.tools.tool import Tool
from remit.tools.work import in_task, on_thread
from remit.values.clock import Clock
from remit.values.content import well_formed
from remit.values.errors import LetGo, Refused, ToolBusyError

GRACE = 5.0
ERROR_CHARS = 2_000

_UNKNOWN = (
    "It may or may not have done what you asked: check before you try again, "
    "or tell the user that it did not work."
)
_UNDONE = "Nothing that it did was kept: try again, or tell the user that it did not work."


class Outcome(msgspec.Struct, frozen=True):
    """How a call ended. `text` is for the model, `error` for log and trace alone. A tool that
    was `busy` is to be called again; one that `returned` came to its end, even where its result
    cannot be used."""

    text: str
    status: Literal["ok", "error", "timeout", "busy"] = "ok"
    error: BaseException | None = None
    returned: bool = False


async def execute(
    tool: Tool,
    checked: Any,
    context: ToolContext[Any],
    *,
    clock: Clock,
    abandoned: Abandoned,
    grace: float = GRACE,
) -> Outcome:
    """Run `tool` with checked arguments and tell how it ended.

    Whatever the tool raises becomes an error outcome; only `LetGo` is raised on. Past the tool's
    timeout, or the context's deadline where it has one, a coroutine is cancelled and has `grace`
    seconds to end, a thread is left behind at once; a late value is dropped. When this call is
    cancelled the tool is too, has `grace` seconds to end, and CancelledError is raised in any
    case.
    """
    begin = in_task if tool.is_async else on_thread
    call, finish = partial(tool.call, checked, context), partial(answer, tool)
    life, attempt = context.life, None
    seconds = tool.seconds
    if seconds is not None and context.deadline is not None:
        seconds = max(context.deadline - clock.steady(), 0.0)
    life.begin(asyncio.get_running_loop(), context.report, clock)
    try:
        attempt = begin(tool.name, call, finish, abandoned.threads)
        in_time = await abandoned.bound(attempt, seconds, grace, clock, life.cancel)
    except RuntimeError as error:
        # The system has no thread left for it.
        return failed(tool, error)
    finally:
        life.end(left_behind=attempt is not None and attempt.work.goes_on)
        if attempt is not None:
            attempt.forget()
    if not in_time:
        return timed_out(tool)
    if attempt.error is not None:
        return failed(tool, attempt.error)
    outcome: Outcome = attempt.value
    return outcome


def timed_out(tool: Tool) -> Outcome:
    """The outcome of a tool whose time is over."""
    log.warning("tool %s timed out after %s s", tool.name, tool.seconds)
    return Outcome(f"The tool timed out after {tool.seconds:g} seconds. {_left(tool)}", "timeout")


def answer(tool: Tool, value: object) -> Outcome:
    """The outcome of a tool that returned `value`: its text, or why it has none."""
    try:
        check = None if tool.promise is None else tool.promise.check
        return Outcome(render(value, tool.max_result_chars, check), returned=True)
    except BaseException as error:
        if inspect.iscoroutine(value):
            value.close()
        log.error("tool %s: its result cannot be used", tool.name, exc_info=error)
        why = _why_not(error, tool.expose_errors)
        text = f"The tool ran, but its result cannot be used: {why}. Do not repeat it."
        return Outcome(text, "error", error, returned=True)


def failed(tool: Tool, error: BaseException, *, may_stay: bool = False) -> Outcome:
    """The outcome of a tool that raised `error`; `may_stay` where what it did may stay, though it
    is transactional. Raises `LetGo` on, if that is what it was."""
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, LetGo):
            raise leaf
    if all(isinstance(leaf, ToolBusyError) for leaf in leaves):
        return Outcome("", "busy", leaves[0])
    if all(isinstance(leaf, Refused) for leaf in leaves):
        log.info("tool %s refused", tool.name, exc_info=error)
        text = "\n".join(filter(None, map(_message, leaves)))
    else:
        log.error("tool %s failed", tool.name, exc_info=error)
        text = ""
        if tool.expose_errors:
            text = cut(f"{type(error).__name__}: {_message(error)}", ERROR_CHARS)
    text = cut(well_formed(text), tool.max_result_chars)
    left = _UNKNOWN if may_stay else _left(tool)
    return Outcome(text if text.strip() else f"The tool failed. {left}", "error", error)


def _left(tool: Tool) -> str:
    """What a tool that did not come to its end may have left behind, and what to do about it."""
    return _UNDONE if tool.transactional else _UNKNOWN


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return ""


def _why_not(error: BaseException, expose: bool) -> str:
    if isinstance(error, ResultError) or (expose and isinstance(error, BrokenPromiseError)):
        return _message(error)[:ERROR_CHARS]
    if isinstance(error, BrokenPromiseError):
        return "it does not have the form that was promised"
    return "reading it failed"
