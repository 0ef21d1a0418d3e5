"""An agent as a tool of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from remit.agent.parts import user_message
from remit.tools.arguments import ArgumentsError
from remit.tools.context import log
from remit.tools.tool import Approval, FunctionTool, Tool, tool
from remit.values.errors import ConfigError
from remit.values.messages import UserMessage

DEPTH = 3
"""How many agents may work inside each other, below the one that is asked."""

_TASK = """Let the agent work.

Args:
    task: All that it is to know and to do. It reads nothing else of this conversation.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentTool(FunctionTool[..., Any]):
    """An agent that another may let work. It is called by its outer agent's loop alone."""

    agent: Any = field(repr=False)

    def check(self, arguments: Any) -> Any:
        """As any tool's, and its agent can be asked that. Raises ArgumentsError."""
        checked = Tool.check(self, arguments)
        try:
            self.message(checked)
        except ConfigError as error:
            raise ArgumentsError(f"The task of {self.name} cannot be asked: {error}") from error
        except Exception:
            log.exception("the prompt of the agent behind tool %s failed", self.name)
            raise ArgumentsError(f"The task of {self.name} could not be asked.") from None
        return checked

    def message(self, checked: Any) -> UserMessage:
        """What the agent is asked, of checked arguments."""
        return user_message(self.agent.given.message(checked.task))


def as_tool(agent: Any, description: str, name: str | None, approval: Approval) -> AgentTool:
    """`Agent.as_tool`."""
    name = agent.name if name is None else name
    depth = 1 + _depth(agent)
    if depth > DEPTH:
        raise ConfigError(
            f"agent {agent.name!r} would be the first of {depth} inside each other, and the most is"
            f" {DEPTH}: let one agent have the tools of the next itself"
        )

    async def work(task: Any) -> str:
        raise ConfigError(f"{name} is an agent: it works where another agent calls it")

    work.__doc__ = _TASK
    work.__annotations__["task"] = str if agent.input is None else agent.input
    made = tool(work, name=name, description=description, approval=approval, timeout=None)
    chosen = {each.name: getattr(made, each.name) for each in fields(made) if each.init}
    return AgentTool(agent=agent, **chosen)


def agents_of(tools: Iterable[Tool]) -> Iterator[Any]:
    """The agents that an agent with these tools may let work, and those that they may, each
    before its own."""
    for each in tools:
        if isinstance(each, AgentTool):
            yield each.agent
            yield from agents_of(each.agent.tools)


def every_tool(tools: Iterable[Tool]) -> Iterator[Tool]:
    """`tools`, and those of the agents among them."""
    own = list(tools)
    yield from own
    for agent in agents_of(own):
        yield from agent.tools


def find(tools: Iterable[Tool], within: Iterable[str], name: str) -> list[Tool]:
    """The tools `name` of the agent that works inside calls of these names, one in the other."""
    at = list(tools)
    for outer in within:
        at = [
            each
            for found in at
            if isinstance(found, AgentTool) and found.name == outer
            for each in found.agent.tools
        ]
    return [each for each in at if each.name == name]


def _depth(agent: Any) -> int:
    inner = [each.agent for each in agent.tools if isinstance(each, AgentTool)]
    return max((1 + _depth(each) for each in inner), default=0)
