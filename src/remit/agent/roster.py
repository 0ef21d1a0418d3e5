"""The agents of an App, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from remit.agent.agent import Agent
from remit.tools.tool import Tool
from remit.values.errors import ConfigError


class Roster:
    """Agents that each have a name of their own. Raises ConfigError for anything else."""

    def __init__(self, agents: Iterable[Agent[Any, Any]]) -> None:
        if isinstance(agents, str) or not isinstance(agents, Iterable):
            raise ConfigError(f"agents= takes a list, like agents=[desk], not {agents!r}")
        self._agents: dict[str, Agent[Any, Any]] = {}
        for agent in agents:
            if not isinstance(agent, Agent):
                raise ConfigError(f"{agent!r} is no Agent")
            if agent.name in self._agents:
                raise ConfigError(f"this App has two agents named {agent.name!r}")
            self._agents[agent.name] = agent

    def __iter__(self) -> Iterator[Agent[Any, Any]]:
        return iter(self._agents.values())

    @property
    def names(self) -> tuple[str, ...] | None:
        """Whose runs are its own; None, without agents, for everybody's."""
        return tuple(self._agents) or None

    def known(self, name: str) -> str:
        """`name`, if runs of that agent are its own. Raises ConfigError if they are not."""
        return self.find(name).name if self._agents else name

    def covers(self, program: str) -> bool:
        """Whether runs of `program` (`name@version`) are its own; without agents all are."""
        return not self._agents or program.partition("@")[0] in self._agents

    def find(self, agent: str | Agent[Any, Any]) -> Agent[Any, Any]:
        """The agent of that name. Raises ConfigError where there is none, and for another agent
        of the same name: what runs is the one that is here."""
        name = agent.name if isinstance(agent, Agent) else agent
        found = self._agents.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(sorted(self._agents)) or "none"
            raise ConfigError(f"this App has no agent {name!r}; it has: {known}")
        if agent not in (name, found):
            raise ConfigError(
                f"this App has another agent named {name!r}, and that one would run: give the"
                " agent to an App of its own, or change its name"
            )
        return found

    def tool(self, program: str, name: str) -> Tool:
        """A tool of the agent whose run is of `program`, to check edited arguments with."""
        found = self._agents.get(program.partition("@")[0])
        for tool in found.tools if found else ():
            if tool.name == name:
                return tool
        raise ConfigError(f"this App has no tool {name!r} to check edited arguments with")
