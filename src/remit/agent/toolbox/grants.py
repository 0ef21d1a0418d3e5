"""What a run may do: capabilities only narrow."""

from __future__ import annotations

from collections.abc import Iterable

from remit.tools.tool import Tool
from remit.values.errors import ConfigError


def grant(capabilities: Iterable[str], where: str) -> frozenset[str]:
    """A set of capabilities, like `{"payments:write"}`. Raises ConfigError for anything else."""
    if isinstance(capabilities, str) or not isinstance(capabilities, Iterable):
        raise ConfigError(f"{where} must be a set of capabilities, not {capabilities!r}")
    found = frozenset(capabilities)
    for capability in found:
        if not isinstance(capability, str) or not capability.strip():
            raise ConfigError(f"{where} holds {capability!r}, which names no capability")
    return found


def allowed(tools: Iterable[Tool], granted: frozenset[str]) -> dict[str, Tool]:
    """The tools whose needs lie inside `granted`, by name."""
    return {tool.name: tool for tool in tools if tool.needs <= granted}
