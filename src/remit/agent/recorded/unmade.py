"""What the calls are answered that did not run, or not to their end."""

from __future__ import annotations

from remit.kernel.facts import Finished
from remit.values.content import Call
from remit.values.messages import ToolMessage


def not_run(call: Call, why: str) -> ToolMessage:
    """The result of a call that did not run."""
    return ToolMessage(call.id, call.name, f"Not run: {why}.", "not_run")


def cut_off(call: Call, why: str) -> ToolMessage:
    """The result of a call that had none when its run ended; nobody can tell whether it began."""
    text = f"Not run to its end: {why}. If it had begun, it may have taken effect: check first."
    return ToolMessage(call.id, call.name, text, "not_run")


def why_not(end: Finished) -> str:
    """Why a call of the run that came to this `end` has no result."""
    if end.status == "cancelled":
        return "the run was cancelled"
    return "the run ended before it" if end.finish is None else f"the run ended ({end.finish})"
