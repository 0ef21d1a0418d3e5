"""Agents that work inside another agent's run, as one of its tools."""

from remit.agent.inside.delegate import Delegates
from remit.agent.inside.outer import Outer
from remit.agent.inside.time import Time
from remit.agent.inside.tool import AgentTool, agents_of, as_tool, every_tool, find

__all__ = [
    "AgentTool",
    "Delegates",
    "Outer",
    "Time",
    "agents_of",
    "as_tool",
    "every_tool",
    "find",
]
