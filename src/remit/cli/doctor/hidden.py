"""Tools of an app's agents that no run of them may call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from remit.agent.toolbox import Inventory
from remit.cli.doctor.finding import Finding


def hidden(found: Iterable[Inventory]) -> Iterator[Finding]:
    """Each tool that a grant takes away, in agents that work inside others, too: it may be meant,
    and whoever forgot a grant sees nothing of the tool anywhere."""
    told: set[Finding] = set()
    for finding in _hidden(found):
        if finding not in told:
            told.add(finding)
            yield finding


def _hidden(found: Iterable[Inventory], around: str = "") -> Iterator[Finding]:
    for each in found:
        for tool in each.tools:
            if tool.why_not is not None:
                yield Finding(
                    "note",
                    "tool-hidden",
                    f"tool {tool.name} of agent {each.agent}{around} cannot be called here:"
                    f" {tool.why_not}",
                    "unless that is meant, grant it: Agent(grant={…}), App(grant={…})",
                )
            if tool.agent is not None:
                yield from _hidden([tool.agent], f" inside {each.agent}{around}")
