"""What the model is asked next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remit.agent.state import AgentState
from remit.models.request import ModelRequest, ToolSpec
from remit.tools.tool import Tool
from remit.values.messages import Message


def specs(tools: Iterable[Tool]) -> tuple[ToolSpec, ...]:
    """The tools as the model sees them, in the agent's order."""
    return tuple(ToolSpec(tool.name, tool.description, dict(tool.schema)) for tool in tools)


def build(
    instructions: str,
    tools: tuple[ToolSpec, ...],
    past: Sequence[Message],
    state: AgentState,
    max_output: int,
) -> ModelRequest:
    """The request of the next turn: the thread so far, and what this run added."""
    return ModelRequest(
        instructions=instructions,
        messages=(*past, *state.messages),
        tools=tools,
        max_output=max_output,
    )
