"""What an agent can do, tool by tool, for people who answer for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from remit.agent.inside.tool import AgentTool
from remit.agent.routing.models import name_of
from remit.tools.strict import Loose, strict
from remit.tools.tool import Repeat, Tool


class ToolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A tool in an inventory.

    `approval` is "check" where a function decides by the arguments. `timeout` is in seconds.
    `why_not` says what keeps a run from calling it, None where nothing does. `loose` says why its
    schema has no strict form, None where it has one. `agent` is what the agent that it lets work
    can do there.
    """

    name: str
    description: str
    schema: dict[str, Any]
    needs: tuple[str, ...]
    approval: Literal["always", "never", "check"]
    repeat: Repeat
    transactional: bool
    exclusive: bool
    timeout: float | None
    why_not: str | None
    loose: str | None
    agent: Inventory | None = None

    @property
    def callable(self) -> bool:
        """Whether a run may call it."""
        return self.why_not is None


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an agent can do. `models` are all that may answer, `model` the first of them.
    `grant` is what it may use where it runs; its tools stand
    in the agent's order, also those that it may not call."""

    agent: str
    version: str
    model: str
    grant: tuple[str, ...]
    tools: tuple[ToolEntry, ...]
    models: tuple[str, ...] = ()


def inventory(agent: Any, granted: frozenset[str] | None, by: str = "app") -> Inventory:
    """What `agent` can do inside `granted`, which is set `by` an app or an outer agent; None for no
    such bound."""
    inside = agent.granted if granted is None else agent.granted & granted
    return Inventory(
        agent=agent.name,
        version=agent.version,
        model=name_of(agent.models[0]),
        models=tuple(map(name_of, agent.models)),
        grant=tuple(sorted(inside)),
        tools=tuple(_entry(tool, agent.granted, granted, by, inside) for tool in agent.tools),
    )


def _entry(
    tool: Tool, own: frozenset[str], granted: frozenset[str] | None, by: str, inside: frozenset[str]
) -> ToolEntry:
    form = strict(tool.schema)
    return ToolEntry(
        name=tool.name,
        description=tool.description,
        schema=tool.schema,
        needs=tuple(sorted(tool.needs)),
        approval="check" if callable(tool.approval) else tool.approval,
        repeat=tool.repeat,
        transactional=tool.transactional,
        exclusive=tool.exclusive,
        timeout=tool.seconds,
        why_not=_why_not(tool.needs, own, granted, by),
        loose=form.why if isinstance(form, Loose) else None,
        agent=inventory(tool.agent, inside, "outer agent") if isinstance(tool, AgentTool) else None,
    )


def _why_not(
    needs: Iterable[str], own: frozenset[str], granted: frozenset[str] | None, by: str
) -> str | None:
    by_agent = sorted(set(needs) - own)
    by_other = sorted(set() if granted is None else set(needs) & own - granted)
    missing = [("agent", by_agent), (by, by_other)]
    told = [f"the {who} does not grant {', '.join(these)}" for who, these in missing if these]
    return "; ".join(told) or None
