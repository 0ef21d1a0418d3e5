"""An agent that works inside the run of another program, in that run's journal."""

from __future__ import annotations

from remit.agent.loop import AgentProgram
from remit.agent.parts import Content, check_accepted, user_message
from remit.agent.state import AgentInput, derive
from remit.kernel.nested import Engagement
from remit.kernel.run import ActiveRun
from remit.values.results import Result


def engaged(program: AgentProgram, message: Content) -> Engagement:
    """The agent that `program` drives, with a message. Raises ConfigError for no message, and for
    one that its model does not take."""
    said = user_message(message)
    check_accepted(program.plan.model.card, [said])
    return Engagement(program, AgentInput(message=said), _result)


def _result(run: ActiveRun) -> Result | None:
    return derive(run.id, run.facts, run.path).result()
