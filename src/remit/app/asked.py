"""What members of an App can be asked and sent."""

from __future__ import annotations

from typing import Any

from remit.agent.agent import Agent
from remit.agent.parts import check_accepted, user_message
from remit.agent.state import AgentInput
from remit.app.roster import Member
from remit.flow.shape import SENT, MisfitError
from remit.flow.workflow import Workflow
from remit.values.errors import ConfigError


def asked_of(member: Member, message: Any) -> Any:
    """The input of a member's run: a workflow's own, or an agent's message. Raises ConfigError."""
    if isinstance(member, Workflow):
        return member.input(message)
    said = user_message(member.given.message(message))
    check_accepted(member.card, [said])
    return AgentInput(message=said)


def format_of(input: Any) -> int:
    """The oldest format of entries whose readers know what is asked."""
    said = input.message if isinstance(input, AgentInput) else None
    return 2 if said is not None and said.files else 1


def sent_to(member: Member | None, message: Any, *, flow: bool) -> Any:
    """A message as its reader takes it: an agent's is text or parts, a workflow's any plain JSON
    data. Without a member, `flow` tells whose run it is. Raises ConfigError."""
    if isinstance(member, Workflow) or (member is None and flow):
        try:
            return SENT.keep(message)
        except MisfitError as misfit:
            raise ConfigError(f"the message cannot be kept: {misfit}") from misfit
    said = user_message(message)
    if isinstance(member, Agent):
        check_accepted(member.card, [said])
    return said
