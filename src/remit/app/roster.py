"""The agents and workflows of an App, by name and version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from remit.agent.agent import Agent
from remit.agent.answer.typed import built
from remit.agent.inside import find
from remit.flow.workflow import Workflow
from remit.tools.tool import Tool
from remit.values.errors import ConfigError
from remit.values.results import Pending, Run

AnyAgent = Agent[Any, Any]
Member = AnyAgent | Workflow


class Roster:
    """Members that each have a name and a version of their own. Of several versions new runs take
    the one that is listed last. Raises ConfigError for anything else."""

    def __init__(self, agents: Iterable[AnyAgent] = (), workflows: Iterable[Workflow] = ()) -> None:
        self._programs: dict[str, Member] = {}
        self._newest: dict[str, Member] = {}
        for agent in _listed("agents", "desk", agents):
            if isinstance(agent, Workflow):
                raise ConfigError(
                    f"{agent.name!r} is a workflow: give it as workflows=[…], beside the agents"
                )
            if not isinstance(agent, Agent):
                raise ConfigError(f"{agent!r} is no Agent")
            self._add(agent)
        for workflow in _listed("workflows", "onboard", workflows):
            if isinstance(workflow, Agent):
                raise ConfigError(
                    f"{workflow.name!r} is an agent: give it as agents=[…], beside the workflows"
                )
            if not isinstance(workflow, Workflow):
                raise ConfigError(f"{workflow!r} is no workflow: mark the function with @workflow")
            self._add(workflow)

    def _add(self, member: Member) -> None:
        for name in names_of(member):
            key = f"{name}@{member.version}"
            if key in self._programs:
                raise ConfigError(
                    f"this App has two agents named {name!r} of version {member.version!r}"
                )
            self._programs[key] = member
            found = self._newest.get(name)
            if found is not None and (found.name, type(found)) != (member.name, type(member)):
                raise ConfigError(f"{name!r} names an agent of this App, and something else")
            self._newest[name] = member

    def __iter__(self) -> Iterator[Member]:
        return iter({id(member): member for member in self._programs.values()}.values())

    @property
    def agents(self) -> list[AnyAgent]:
        """The agents alone, every version."""
        return [member for member in self if isinstance(member, Agent)]

    @property
    def programs(self) -> Iterator[tuple[str, Member]]:
        """Every `name@version` whose runs are its own, earlier names included."""
        return iter(self._programs.items())

    @property
    def names(self) -> tuple[str, ...] | None:
        """Whose runs are its own; None, without members, for everybody's."""
        return tuple(self._newest) or None

    def known(self, name: str) -> tuple[str, ...]:
        """The names under which a member's runs are listed. Raises ConfigError for one that is
        not its own."""
        return names_of(self.find(name)) if self._newest else (name,)

    def covers(self, program: str) -> bool:
        """Whether runs of `program` (`name@version`) are its own; without members all are."""
        return not self._newest or program.partition("@")[0] in self._newest

    def lacks(self, program: str) -> str | None:
        """Why runs of `program` are not driven here, if so."""
        if not self._newest or program in self._programs:
            return None
        name, _, version = program.partition("@")
        here = ", ".join(sorted(key for key in self._programs if key.partition("@")[0] == name))
        return f"no process here drives version {version!r} of {name!r}; this App has {here}"

    def find(self, member: str | Member) -> Member:
        """The member of that name. Raises ConfigError where there is none, and for another of the
        same name: what runs is the one that is here."""
        if not isinstance(member, str):
            if isinstance(member, Agent | Workflow) and member in self._programs.values():
                return member
            name = getattr(member, "name", None)
            if name in self._newest:
                raise ConfigError(
                    f"this App has another agent named {name!r}, and that one would run:"
                    " give the agent to an App of its own, or change its name"
                )
            raise self._unknown(name or member)
        found = self._newest.get(member)
        if found is None:
            raise self._unknown(member)
        return found

    def agent(self, agent: str | AnyAgent) -> AnyAgent:
        """As `find`, for what only an agent can do."""
        found = self.find(agent)
        if not isinstance(found, Agent):
            raise ConfigError(f"{found.name!r} is a workflow, and this is for agents alone")
        return found

    def of(self, program: str) -> Member | None:
        """Whose run one of `program` is: that version, or else the newest."""
        return self._programs.get(program) or self._newest.get(program.partition("@")[0])

    def built(self, program: str, run: Run) -> Run:
        """A run of `program` with its output as a value of its agent's type."""
        member = self.of(program)
        found: Run = built(
            (member.ending or member.form) if isinstance(member, Agent) else None, run
        )
        return found

    def tool(self, program: str, call: Pending) -> Tool:
        """The tool of the `call` that waits in a run of `program`, to check edited arguments
        with: of that agent, or of one that works in such a workflow, or inside its calls."""
        member, name = self.of(program), call.tool
        agents = [member] if isinstance(member, Agent) else self.agents
        found = {
            id(tool): tool for agent in agents for tool in find(agent.tools, call.within, name)
        }
        if len(found) == 1:
            return found.popitem()[1]
        raise ConfigError(
            f"this App has {len(found) or 'no'} tools {name!r} to check edited arguments with"
        )

    def _unknown(self, name: object) -> ConfigError:
        known = ", ".join(sorted(self._newest)) or "none"
        return ConfigError(f"this App has no agent or workflow {name!r}; it has: {known}")


def names_of(member: Member) -> tuple[str, ...]:
    """A member's name, and those that it had before."""
    return (member.name, *(member.aliases if isinstance(member, Agent) else ()))


def thread_name(member: Member) -> str:
    """The member's name in its threads' keys: the first that it had."""
    return next(iter(names_of(member)[1:]), member.name)


def key_of(member: Member) -> str:
    """The program of the member's new runs."""
    return f"{member.name}@{member.version}"


def _listed(what: str, example: str, members: object) -> Iterable[Any]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise ConfigError(f"{what}= takes a list, like {what}=[{example}], not {members!r}")
    return members
