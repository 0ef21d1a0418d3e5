"""An agent that works inside the run of another program, in that run's journal."""

from __future__ import annotations

from functools import partial
from typing import Any

from remit.agent.answer.typed import built
from remit.agent.loop import AgentProgram
from remit.agent.parts import check_accepted, user_message
from remit.agent.state import AgentInput, derive
from remit.kernel.nested import Engagement
from remit.kernel.run import ActiveRun
from remit.values.results import Result


def engaged(program: AgentProgram, message: Any) -> Engagement:
    """The agent that `program` drives, with what it is asked. Raises ConfigError for no message,
    and for one that its model does not take."""
    said = user_message(program.plan.given.message(message))
    check_accepted(program.plan.card, [said])
    return Engagement(program, AgentInput(message=said), partial(_result, program))


def _result(program: AgentProgram, run: ActiveRun) -> Result | None:
    result: Result | None = built(program.plan.builds, derive(run.id, run.facts, run.path).result())
    return result
