"""The inventory of an app as a page, and as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from remit.agent.toolbox import Inventory, ToolEntry
from remit.cli import apps, status
from remit.cli.render import output
from remit.cli.render.page import Block, Cell, Column, Heading, Line, Listing
from remit.cli.render.wording import count
from remit.values.errors import ConfigError

_COLUMNS = (
    Column("tool", 20, whole=True),
    Column("may run", 7, whole=True),
    Column("approval", 8, whole=True),
    Column("repeat", 13, whole=True),
    Column("timeout", 7, right=True, whole=True),
    Column("needs", 16),
    Column("arguments", 16),
)


async def inventory(app: str, agent: str | None, *, json: bool) -> int:
    """Tell what each agent of `app` (`module:app`) can do, or the one of this name alone.

    Raises ConfigError for a name that leads to no App, and for an agent that it has not.
    """
    made = await apps.opened_by(app)
    found = [each for each in made.inventory() if agent in (None, each.agent)]
    if not found and agent is not None:
        names = ", ".join(dict.fromkeys(each.agent for each in made.inventory())) or "none"
        raise ConfigError(f"{app} has no agent {agent!r}: its agents are {names}")
    blocks: list[Block] = [block for each in found for block in _page(each)]
    if not blocks:
        blocks = [Line(f"{app} has no agents.", "dim")]
    output.show(blocks, [_object(each) for each in found], json=json)
    return status.OK


def _object(found: Inventory) -> dict[str, object]:
    tools = [
        {
            **msgspec.to_builtins(each),
            "callable": each.callable,
            "agent": None if each.agent is None else _object(each.agent),
        }
        for each in found.tools
    ]
    return {"kind": "inventory", **msgspec.to_builtins(found), "tools": tools}


def _page(found: Inventory, outer: str = "") -> Iterator[Block]:
    inside = f", inside {outer}" if outer else ""
    tools = count(len(found.tools), "tool")
    yield Heading(f"{found.agent} {found.version}{inside}: {tools}")
    granted = ", ".join(found.grant) or "nothing"
    yield Line(f"model {', then '.join(found.models)}, granted {granted}", "dim")
    if found.tools:
        yield Listing(_COLUMNS, [_row(each) for each in found.tools])
    for each in found.tools:
        if each.why_not is not None:
            yield Line(f"{each.name}: {each.why_not}", "waiting")
    for each in found.tools:
        if each.agent is not None:
            yield from _page(each.agent, found.agent)


def _row(found: ToolEntry) -> list[Cell]:
    repeat = "transactional" if found.transactional else found.repeat
    return [
        Cell(found.name),
        Cell("yes", "good") if found.why_not is None else Cell("no", "waiting"),
        Cell(found.approval),
        Cell(repeat),
        Cell("none" if found.timeout is None else f"{found.timeout:g} s"),
        Cell(", ".join(found.needs) or "-"),
        Cell(", ".join(_arguments(found)) or "-"),
    ]


def _arguments(found: ToolEntry) -> Iterator[str]:
    required = found.schema.get("required", ())
    for name in found.schema.get("properties", {}):
        yield name if name in required else f"{name}?"
