"""Whether a person must agree to a call, and what exactly they agree to."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any

from remit.tools.abandoned import Abandoned
from remit.tools.context import ToolContext, log
from remit.tools.tool import Tool
from remit.tools.work import Given, in_task
from remit.values import codec
from remit.values.clock import Clock
from remit.values.errors import LetGo

CHECK_SECONDS = 10.0
CHECK_GRACE = 1.0


async def asks(
    tool: Tool,
    checked: Any,
    context: ToolContext[Any],
    *,
    clock: Clock,
    abandoned: Abandoned,
) -> str | None:
    """Why a person must agree to this call, or None where nobody must.

    A check that raises, answers anything but True or False, or is async and takes more than
    `CHECK_SECONDS`, counts as: ask. A sync check runs on the loop, so it must only look at its
    arguments; one that reads elsewhere must be async.
    """
    if tool.approval == "never":
        return None
    if tool.approval == "always":
        return f"every call of {tool.name} needs a person's agreement"
    try:
        # A check that changes its arguments must not change what runs.
        own = copy.deepcopy(checked)
        verdict: Any = tool.approval(*((own, context) if tool.checks_context else (own,)))
    except BaseException as error:
        return _failed(tool, error)
    if inspect.isawaitable(verdict):
        attempt = in_task(f"{tool.name} (approval)", Given(verdict), _same, abandoned.threads)
        if not await abandoned.bound(attempt, CHECK_SECONDS, CHECK_GRACE, clock, _nothing):
            return _failed(tool, TimeoutError(f"it took more than {CHECK_SECONDS:g} seconds"))
        if attempt.error is not None:
            return _failed(tool, attempt.error)
        verdict = attempt.value
        attempt.forget()
    if isinstance(verdict, bool):
        reason = f"the approval check of {tool.name} asks for a person's agreement"
        return reason if verdict else None
    log.error("the approval check of tool %s gave a %s", tool.name, type(verdict).__name__)
    return f"the approval check of {tool.name} gave no yes or no, so a person must decide"


def _failed(tool: Tool, error: BaseException) -> str:
    if isinstance(error, LetGo):
        raise error
    log.error("the approval check of tool %s failed", tool.name, exc_info=error)
    return f"the approval check of {tool.name} failed, so a person must decide"


def digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a decision is bound to: SHA-256, in hex, of the tool's name and its arguments.

    Taken over the JSON that a journal keeps of them, with sorted keys, so that it is the same
    before and after they were stored: 1 and 1.0 differ, lone surrogates stand as escapes.
    Raises TypeError or ValueError for arguments that JSON cannot hold.
    """
    kept = codec.decode(codec.encode([tool, arguments]), list)
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _same(value: Any) -> Any:
    return value


def _nothing() -> None:
    return None
