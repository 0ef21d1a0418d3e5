"""Calling a tool again that was busy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from remit.tools.context import log
from remit.tools.execute import Outcome, timed_out
from remit.tools.tool import Tool
from remit.values.clock import Clock
from remit.values.errors import ToolBusyError

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0


async def patiently(
    attempt: Callable[[], Awaitable[Outcome]],
    tool: Tool,
    deadline: float | None,
    clock: Clock,
    check: Callable[[], None],
) -> Outcome:
    """What `attempt` comes to once the tool is no longer busy.

    The pauses between the attempts are the tool's own, or double from `FIRST_PAUSE` to
    `LONGEST_PAUSE` seconds. One that would last past `deadline` (seconds of the clock's steady
    time) makes it a timeout. `check` raises what forbids another attempt.
    """
    pause = FIRST_PAUSE
    while (outcome := await attempt()).status == "busy":
        asked = outcome.error.retry_after if isinstance(outcome.error, ToolBusyError) else None
        wait = pause if asked is None else max(asked, 0.0)
        if deadline is not None and clock.steady() + wait >= deadline:
            return timed_out(tool)
        log.info("tool %s is busy: again in %g s", tool.name, wait, exc_info=outcome.error)
        await clock.sleep(wait)
        check()
        pause = min(pause * 2, LONGEST_PAUSE)
    return outcome
