"""Calls that may have happened: nobody knows, so they are not repeated until a person says so."""

from __future__ import annotations

from remit.agent.state import Decision
from remit.kernel.facts import Ask
from remit.kernel.run import ActiveRun
from remit.tools.approval import digest
from remit.values.content import Call
from remit.values.messages import ToolMessage
from remit.values.results import Pending


def doubt(run: ActiveRun, name: str) -> str | None:
    """The key of the question whether the call with the step `name`, which has no result, has
    happened; None for one that was never started. Each start asks under a key of its own."""
    started = run.started.get(name)
    return None if started is None else f"{name}/again:{started}"


def question(key: str, call: Call) -> Ask:
    """What a person is asked about the call."""
    return Ask(
        key,
        Pending(
            id=call.id,
            tool=call.name,
            arguments=call.arguments,
            why=(
                f"{call.name} was running when its process died, so it may have happened. Look"
                " whether it did: approve it only if it did not, and it runs again; deny it if it"
                " did, or if nobody can tell"
            ),
            digest=digest(call.name, call.arguments),
            doubt=True,
        ),
    )


def kept_back(call: Call, decision: Decision) -> ToolMessage | None:
    """The result of a call that is not to run again; None for one that a person said has not
    happened."""
    if decision.verdict == "approve" and decision.digest == digest(call.name, call.arguments):
        return None
    reason = f": {decision.reason}" if decision.reason else "."
    text = (
        "This call was cut off while it ran, so it may have taken effect. A person decided that"
        f" it is not to run again{reason}"
    )
    return ToolMessage(call.id, call.name, text, "denied")
