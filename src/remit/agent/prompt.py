"""How the model is told of its tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from remit.agent.answer.choice import demand
from remit.agent.answer.malformed import NOTE
from remit.agent.answer.typed import note
from remit.agent.brakes import advice
from remit.agent.history import History
from remit.agent.parts import user_message
from remit.agent.plan import Plan
from remit.agent.recorded.verdicts import Prepared
from remit.agent.state import AgentState
from remit.models.request import ModelRequest, ToolSpec
from remit.tools.tool import Tool
from remit.values.messages import Message

_LAST = (
    "This is your last turn, and you have no tools in it: answer with what you have, and say what"
    " is missing."
)
_AS_IT_IS = Prepared()


def specs(tools: Iterable[Tool]) -> tuple[ToolSpec, ...]:
    """The tools as the model sees them, in the agent's order."""
    return tuple(ToolSpec(tool.name, tool.description, dict(tool.schema)) for tool in tools)


def build(
    plan: Plan,
    tools: tuple[ToolSpec, ...],
    said: Sequence[Message],
    state: AgentState,
    history: History,
) -> ModelRequest:
    """The request of the next turn: what was `said`, as the folds leave it, and what the model is
    told once, made valid by `history`."""
    turn = len(state.turns)
    told: Iterable[str] = ()
    if state.warning is not None or state.faults.raw is not None:
        told = _told(state, plan.terms.names)
    closing = state.closing is not None and state.closing[0] == turn
    told = (*told, _LAST) if closing else told
    prepared = _AS_IT_IS
    if state.preparation is not None:
        prepared = state.prepared(turn) or prepared
    inside, instructions = prepared.tools, prepared.instructions
    if inside is not None:
        tools = tuple([tool for tool in tools if tool.name in inside])
    return ModelRequest(
        instructions=plan.instructions if instructions is None else instructions,
        messages=history.valid((*said, *map(user_message, told))),
        tools=tools,
        max_output=plan.max_output,
        tool_choice=prepared.tool_choice or "auto",
    )


def _told(state: AgentState, names: frozenset[str]) -> Iterator[str]:
    """What the model is told of its last answer, in the next request alone."""
    if state.warning is not None:
        yield advice(state.warning)
    raw, misfit = state.faults.raw, state.faults.misfit
    if raw is not None:
        said = NOTE if misfit is None else demand(misfit)
        yield said or note(raw, misfit or "", names)
