"""From facts to the events that readers see."""

from __future__ import annotations

from collections.abc import Iterator

from remit.agent.recorded.folds import Brief, Cleared
from remit.agent.recorded.steps import ModelAnswer, step_value
from remit.agent.recorded.verdicts import Braked
from remit.agent.state import AgentState
from remit.kernel.facts import AnyFact, Finished, Paused, Stepped
from remit.values.events import (
    BrakeEvent,
    DoneEvent,
    FactEvent,
    FoldEvent,
    PendingEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEvent,
    UsageEvent,
)
from remit.values.messages import ToolMessage


class Projector:
    """Turns a run's facts, in order, into events. The same facts give the same events."""

    def __init__(self, run_id: str) -> None:
        self.state = AgentState(run_id)

    def advance(self, seq: int, fact: AnyFact) -> list[FactEvent]:
        """The events of the next fact."""
        return list(self._events(seq, fact))

    def _events(self, seq: int, fact: AnyFact) -> Iterator[FactEvent]:
        state = self.state
        calls = state.open_calls
        state.advance(seq, fact)
        turn = len(state.turns) - 1
        match fact:
            case Stepped():
                value = step_value(fact)
                if isinstance(value, ModelAnswer):
                    yield from self._answer(seq, turn)
                    return
                if isinstance(value, Braked):
                    tool, stopped = value.tool, value.stops
                    yield BrakeEvent(
                        seq=seq, turn=turn, brake=value.brake, stopped=stopped, tool=tool
                    )
                elif isinstance(value, Cleared | Brief):
                    yield fold_event(seq, turn, value, f"{state.run_id}/{fact.name}")
                elif isinstance(value, ToolMessage):
                    call = next(call for call in calls if call.id == value.call_id)
                    yield ToolResultEvent(seq=seq, turn=turn, call=call, result=value)
            case Paused():
                yield PendingEvent(seq=seq, turn=turn, pending=state.pending)
            case Finished(error=error):
                for index, (call, result) in enumerate(state.closed):
                    yield ToolResultEvent(seq=seq, index=index, turn=turn, call=call, result=result)
                last = len(state.closed)
                yield DoneEvent(seq=seq, index=last, turn=turn, result=state.result(), error=error)
            case _:
                return

    def _answer(self, seq: int, turn: int) -> Iterator[FactEvent]:
        record = self.state.turns[-1]
        for index, call in enumerate(record.calls):
            yield ToolCallEvent(seq=seq, index=index, turn=turn, call=call)
        last = len(record.calls)
        yield UsageEvent(seq=seq, index=last, turn=turn, model=record.model, usage=record.usage)
        yield TurnEvent(seq=seq, index=last + 1, turn=turn, record=record)


def fold_event(seq: int, turn: int, fold: Cleared | Brief, id: str) -> FoldEvent:
    """What is told of a fold, or of its brief, recorded as the step `id`."""
    if isinstance(fold, Cleared):
        return FoldEvent(seq=seq, turn=turn, number=fold.number, cleared=fold.calls, kept=fold.kept)
    return FoldEvent(
        seq=seq,
        turn=turn,
        number=fold.number,
        covers=fold.covers,
        brief=fold.text,
        usage=fold.usage,
        usage_id=id,
    )
