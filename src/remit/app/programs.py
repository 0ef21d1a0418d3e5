"""What drives the runs of an App's members."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from remit.agent.engaged import engaged
from remit.agent.loop import AgentProgram
from remit.agent.plan import DepsFactory
from remit.app.roster import Roster
from remit.flow.program import WorkflowProgram
from remit.flow.workflow import Workflow
from remit.kernel.nested import Engagement
from remit.kernel.program import Program
from remit.tools.abandoned import LeftBehind
from remit.values.errors import ConfigError


class Programs:
    """One program for each member, under each of its keys. Raises ConfigError for a member whose
    model has no adapter."""

    def __init__(self, roster: Roster, granted: frozenset[str], deps: DepsFactory | None) -> None:
        self._roster = roster
        agents = {id(agent): AgentProgram(agent.plan(granted, deps)) for agent in roster.agents}
        self._agents: dict[str, AgentProgram] = {}
        self._all: list[AgentProgram | WorkflowProgram] = list(agents.values())
        keys: dict[str, Program] = {}
        for key, member in roster.programs:
            if isinstance(member, Workflow):
                flow = member.program(self._engage)
                self._all.append(flow)
                keys[key] = flow
            else:
                keys[key] = self._agents[key] = agents[id(member)]
        self.by_key: Mapping[str, Program] = keys

    @property
    def abandoned(self) -> LeftBehind:
        """What all of them ever left behind."""
        each = [program.abandoned.left_behind for program in self._all]
        return LeftBehind(sum(left.count for left in each), sum(left.going for left in each))

    def longest(self) -> float:
        """The longest timeout of the calls and steps that they run now, in seconds."""
        return max((program.abandoned.longest for program in self._all), default=0.0)

    async def close(self, wait: float) -> None:
        """Wait at most so many seconds for what they left running."""
        await asyncio.gather(*(program.abandoned.close(wait) for program in self._all))

    def _engage(self, agent: Any, message: Any, recorded: str | None) -> Engagement:
        """The agent with its message, in the version that the run recorded."""
        found = self._roster.agent(agent)
        key = f"{found.name}@{found.version}" if recorded is None else recorded
        program = self._agents.get(key)
        if program is None:
            raise ConfigError(f"this App has no agent {key}, which the run has let work")
        return engaged(program, message)
