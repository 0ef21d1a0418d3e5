"""The agents of an App, by name and version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from remit.agent.agent import Agent
from remit.tools.tool import Tool
from remit.values.errors import ConfigError

AnyAgent = Agent[Any, Any]


class Roster:
    """Agents that each have a name and a version of their own. Of several versions new runs take
    the one that is listed last. Raises ConfigError for anything else."""

    def __init__(self, agents: Iterable[AnyAgent]) -> None:
        if isinstance(agents, str) or not isinstance(agents, Iterable):
            raise ConfigError(f"agents= takes a list, like agents=[desk], not {agents!r}")
        self._programs: dict[str, AnyAgent] = {}
        self._newest: dict[str, AnyAgent] = {}
        for agent in agents:
            if not isinstance(agent, Agent):
                raise ConfigError(f"{agent!r} is no Agent")
            self._add(agent)

    def _add(self, agent: AnyAgent) -> None:
        for name in (agent.name, *agent.aliases):
            key = f"{name}@{agent.version}"
            if key in self._programs:
                raise ConfigError(
                    f"this App has two agents named {name!r} of version {agent.version!r}"
                )
            self._programs[key] = agent
            found = self._newest.get(name)
            if found is not None and found.name != agent.name:
                raise ConfigError(f"{name!r} is an agent of this App and an alias of another")
            self._newest[name] = agent

    def __iter__(self) -> Iterator[AnyAgent]:
        return iter({id(agent): agent for agent in self._programs.values()}.values())

    @property
    def programs(self) -> Iterator[tuple[str, AnyAgent]]:
        """Every `name@version` whose runs are its own, earlier names included."""
        return iter(self._programs.items())

    @property
    def names(self) -> tuple[str, ...] | None:
        """Whose runs are its own; None, without agents, for everybody's."""
        return tuple(self._newest) or None

    def known(self, name: str) -> tuple[str, ...]:
        """The names under which an agent's runs are listed. Raises ConfigError for one that is
        not its own."""
        if not self._newest:
            return (name,)
        agent = self.find(name)
        return (agent.name, *agent.aliases)

    def covers(self, program: str) -> bool:
        """Whether runs of `program` (`name@version`) are its own; without agents all are."""
        return not self._newest or program.partition("@")[0] in self._newest

    def lacks(self, program: str) -> str | None:
        """Why runs of `program` are not driven here, if so."""
        if not self._newest or program in self._programs:
            return None
        name, _, version = program.partition("@")
        here = ", ".join(sorted(key for key in self._programs if key.partition("@")[0] == name))
        return f"no process here drives version {version!r} of {name!r}; this App has {here}"

    def find(self, agent: str | AnyAgent) -> AnyAgent:
        """The agent of that name. Raises ConfigError where there is none, and for another agent
        of the same name: what runs is the one that is here."""
        if isinstance(agent, Agent):
            if agent in self._programs.values():
                return agent
            if agent.name in self._newest:
                raise ConfigError(
                    f"this App has another agent named {agent.name!r}, and that one would run:"
                    " give the agent to an App of its own, or change its name"
                )
        name = agent.name if isinstance(agent, Agent) else agent
        found = self._newest.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(sorted(self._newest)) or "none"
            raise ConfigError(f"this App has no agent {name!r}; it has: {known}")
        return found

    def tool(self, program: str, name: str) -> Tool:
        """A tool of the agent whose run is of `program`, to check edited arguments with."""
        found = self._programs.get(program) or self._newest.get(program.partition("@")[0])
        for tool in found.tools if found else ():
            if tool.name == name:
                return tool
        raise ConfigError(f"this App has no tool {name!r} to check edited arguments with")


def thread_name(agent: AnyAgent) -> str:
    """The agent's name in its threads' keys: the first that it had."""
    return agent.aliases[0] if agent.aliases else agent.name


def key_of(agent: AnyAgent) -> str:
    """The program of the agent's new runs."""
    return f"{agent.name}@{agent.version}"
