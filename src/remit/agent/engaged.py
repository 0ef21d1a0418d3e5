"""An agent that works inside the run of another program, in that run's journal."""

from __future__ import annotations

from remit.agent.asking import check_message, user_message
from remit.agent.loop import AgentProgram
from remit.agent.state import AgentInput, derive
from remit.kernel.nested import Engagement
from remit.kernel.run import ActiveRun
from remit.values.results import Result


def engaged(program: AgentProgram, message: str) -> Engagement:
    """The agent that `program` drives, with a message. Raises ConfigError for no message."""
    check_message(message)
    return Engagement(program, AgentInput(message=user_message(message)), _result)


def _result(run: ActiveRun) -> Result | None:
    return derive(run.id, run.facts, run.path).result()
