"""What members of an App can be asked and sent."""

from __future__ import annotations

from typing import Any

from remit.agent.asking import check_message, user_message
from remit.agent.state import AgentInput
from remit.app.roster import Member
from remit.flow.shape import PLAIN, MisfitError
from remit.flow.workflow import Workflow
from remit.values.errors import ConfigError


def asked_of(member: Member, message: Any) -> Any:
    """The input of a member's run: a workflow's own, or an agent's message. Raises ConfigError."""
    if isinstance(member, Workflow):
        return member.input(message)
    check_message(message)
    return AgentInput(message=user_message(message))


def sent_to(member: Member | None, message: Any, *, flow: bool) -> Any:
    """A message as its reader takes it: an agent's is text, a workflow's any plain JSON data.
    Without a member, `flow` tells whose run it is. Raises ConfigError."""
    if isinstance(member, Workflow) or (member is None and flow):
        try:
            return PLAIN.keep(message)
        except MisfitError as misfit:
            raise ConfigError(f"the message cannot be kept: {misfit}") from misfit
    check_message(message)
    return user_message(message)
