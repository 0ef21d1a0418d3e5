"""From facts to the events that readers see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from remit.agent.answer.faults import again
from remit.agent.recorded.failed import Failed
from remit.agent.recorded.folds import Brief, Cleared
from remit.agent.recorded.steps import ModelAnswer, step_value
from remit.agent.recorded.verdicts import Braked
from remit.agent.state import INSIDE, AgentState, path_of
from remit.kernel.facts import Answered, AnyFact, Asked, Finished, Paused, Stepped
from remit.kernel.nested import ASKED, Task, inside
from remit.values import codec
from remit.values.content import Call
from remit.values.events import (
    BrakeEvent,
    DoneEvent,
    FactEvent,
    FallbackEvent,
    FoldEvent,
    PendingEvent,
    RetryEvent,
    SubagentEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEvent,
    UsageEvent,
)
from remit.values.messages import ToolMessage


class Projector:
    """Turns a run's facts, in order, into events. The same facts give the same events."""

    def __init__(self, run_id: str, path: str = "") -> None:
        self.state = AgentState(run_id, path)
        self._path = path
        self._asked: Asked | None = None
        self._inside: dict[str, _Inside] = {}

    def advance(self, seq: int, fact: AnyFact) -> list[FactEvent]:
        """The events of the next fact."""
        return list(self._events(seq, fact))

    def _events(self, seq: int, fact: AnyFact) -> Iterator[FactEvent]:
        state = self.state
        calls = state.open_calls
        state.advance(seq, fact)
        turn = len(state.turns) - 1
        if self._inside:
            self._tell_agents(seq, fact)
        match fact:
            case Asked():
                self._asked = fact
            case Stepped() if INSIDE in fact.name:
                yield from self._of_agent(seq, turn, fact, calls)
            case Stepped():
                yield from self._of_step(seq, turn, fact, calls)
            case Paused():
                yield PendingEvent(seq=seq, turn=turn, pending=state.pending)
            case Finished(error=error):
                for index, (call, result) in enumerate(state.closed):
                    yield ToolResultEvent(seq=seq, index=index, turn=turn, call=call, result=result)
                last = len(state.closed)
                yield DoneEvent(seq=seq, index=last, turn=turn, result=state.result(), error=error)
            case _:
                return

    def _of_step(
        self, seq: int, turn: int, fact: Stepped, calls: Sequence[Call]
    ) -> Iterator[FactEvent]:
        value = step_value(fact)
        if isinstance(value, ModelAnswer):
            yield from self._answer(seq, turn)
        elif isinstance(value, Braked):
            tool, stopped = value.tool, value.stops
            yield BrakeEvent(seq=seq, turn=turn, brake=value.brake, stopped=stopped, tool=tool)
        elif isinstance(value, Cleared | Brief):
            yield fold_event(seq, turn, value, f"{self.state.run_id}/{self._path}{fact.name}")
        elif isinstance(value, Failed):
            yield from _failure(seq, turn + 1, value)
        elif isinstance(value, ToolMessage):
            call = next(call for call in calls if call.id == value.call_id)
            yield ToolResultEvent(seq=seq, turn=turn, call=call, result=value)

    def _answer(self, seq: int, turn: int) -> Iterator[FactEvent]:
        record = self.state.turns[-1]
        for index, call in enumerate(record.calls):
            yield ToolCallEvent(seq=seq, index=index, turn=turn, call=call)
        last = len(record.calls)
        yield UsageEvent(seq=seq, index=last, turn=turn, model=record.model, usage=record.usage)
        yield TurnEvent(seq=seq, index=last + 1, turn=turn, record=record)
        failure = again(self.state.faults)
        if failure is not None:
            model, index = record.model, last + 2
            yield RetryEvent(
                seq=seq, index=index, turn=turn, model=model, wait=0.0, failure=failure
            )

    def _of_agent(
        self, seq: int, turn: int, fact: Stepped, calls: Sequence[Call]
    ) -> Iterator[FactEvent]:
        path = path_of(fact)
        found = self._inside.get(path)
        if found is None:
            if not fact.name.endswith(INSIDE + ASKED) or self._asked is None:
                return
            call = calls[int(path.removesuffix(INSIDE).rpartition(":")[2])]
            agent = codec.convert(fact.value, Task).program.partition("@")[0]
            found = _Inside(call.id, agent, Projector(self.state.run_id, self._path + path))
            self._inside[path] = found
        assert self._asked is not None
        own = inside(self._asked, path, fact)
        events = [] if own is None else found.projector.advance(seq, own)
        for index, event in enumerate(events):
            yield SubagentEvent(
                seq=seq,
                index=index,
                turn=turn,
                call_id=found.call_id,
                agent=found.agent,
                event=event,  # type: ignore[arg-type]  # a projector makes no others of a step
            )

    def _tell_agents(self, seq: int, fact: AnyFact) -> None:
        """Let what is asked and answered change what is known of the agents inside."""
        if not isinstance(fact, Paused | Answered):
            return
        for path, found in self._inside.items():
            if self._asked is not None and (own := inside(self._asked, path, fact)) is not None:
                found.projector.advance(seq, own)


@dataclass(frozen=True, slots=True)
class _Inside:
    """An agent that works in a call, and what its facts are told by."""

    call_id: str
    agent: str
    projector: Projector


def _failure(seq: int, turn: int, failed: Failed) -> Iterator[FactEvent]:
    if failed.usage is not None:
        yield UsageEvent(seq=seq, turn=turn, model=failed.model, usage=failed.usage)
    told: dict[str, Any] = {
        "seq": seq,
        "index": 0 if failed.usage is None else 1,
        "turn": turn,
        "model": failed.model,
        "failure": failed.why,
        "status": failed.status,
        "error": failed.message,
    }
    if failed.next is not None:
        yield FallbackEvent(**told, next=failed.next)
    elif not failed.ends:
        yield RetryEvent(**told, wait=failed.wait)


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
