"""Exit statuses: what a shell learns without reading a word."""

from __future__ import annotations

from typing import Final

from remit.values.results import Finish, Status

OK: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2
PAUSED: Final = 3
LIMIT: Final = 4
PIPE_CLOSED: Final = 141
INTERRUPTED: Final = 130

LIMITS: frozenset[Finish] = frozenset({"turns", "tool_calls", "tokens", "seconds", "budget"})


def of_run(status: Status, finish: Finish | None) -> int:
    """The exit status that tells how a run stands; one that goes on has no fault yet."""
    if status in ("succeeded", "queued", "running"):
        return OK
    if status == "paused":
        return PAUSED
    return LIMIT if finish in LIMITS else FAILED
