"""Letting an agent work inside a call of another: steps of the outer run, under the call's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Protocol, TypeVar

import msgspec

from remit.agent.inside.outer import Outer
from remit.agent.inside.time import Time
from remit.agent.inside.tool import AgentTool
from remit.agent.state import INSIDE, AgentInput, AgentState
from remit.kernel.facts import Ask, Finished
from remit.kernel.interrupt import PauseWanted, Unfit
from remit.kernel.lease import RecordEnds
from remit.kernel.nested import ASKED, END, Task, nested
from remit.kernel.program import Outcome, outcome_of, told_error
from remit.kernel.run import ActiveRun
from remit.tools.result import render
from remit.values.content import Call
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.events import InnerPassing, SubagentDeltaEvent
from remit.values.messages import ToolMessage
from remit.values.results import Pending

T = TypeVar("T")


class Follows(Protocol):
    """What drives an agent's run."""

    @property
    def key(self) -> str: ...

    async def follow(
        self, run: ActiveRun, state: AgentState, above: Outer | None = None
    ) -> Outcome: ...


class Delegates:
    """The agents that one agent lets work in one drive, by the names of its tools."""

    def __init__(self, programs: Mapping[str, Follows], outer: Outer) -> None:
        self._programs = programs
        self._outer = outer

    async def work(
        self, name: str, call: Call, tool: AgentTool, checked: Any, time: Time
    ) -> ToolMessage | Sequence[Ask]:
        """Let the agent behind the call work. Gives the result that the calling model reads, or the
        questions to people with which the agent waits. `checked` are the call's arguments; an agent
        that has begun keeps the task that is recorded, and they are not looked at.

        Raises Unfit where another version of the agent has begun.
        """
        run, path = self._outer.run, name + INSIDE
        program = self._programs[call.name]
        asked = await run.step(path + ASKED, partial(_task, program, tool, checked), Task)
        if not _is_of(tool.agent, asked.program):
            raise Unfit(f"{asked.program} is to go on in {call.name}, and here is {program.key}")
        inner = nested(run, path, _shown(run, call, asked.program))
        state = AgentState(inner.id, inner.path)
        state.catch_up(inner.facts)
        try:
            outcome = _end(inner) or await self._outcome(program, inner, state, time)
        except PauseWanted as wanted:
            return [_outer(path, call, ask) for ask in wanted.asks]
        finally:
            run.followers.pop(path, None)
        outcome = await run.step(path + END, partial(_same, outcome), Outcome)
        return _told(call, tool, outcome, state)

    async def _outcome(
        self, program: Follows, inner: ActiveRun, state: AgentState, time: Time
    ) -> Outcome:
        try:
            return await program.follow(inner, state, replace(self._outer, time=time))
        except (ProviderError, ConnectionFailedError) as error:
            if error is not state.raised:
                # A hook's, or of what the app lends: it ends the run, as it would anywhere.
                raise
            return Outcome(status="failed", error=told_error(error))
        except (RecordEnds, Unfit):
            # A replay knows no clock and no failure: it drives on where the agent was cut short,
            # up to the end of the record. How the agent ended is then read from its last step.
            if inner.past is None or not inner.past.holds(END):
                raise
            inner.past.recall(END)
            end = _end(inner)
            if end is None or (end.error is None and end.finish != "seconds"):
                raise
            return end


def _is_of(agent: Any, program: str) -> bool:
    """Whether what was recorded as `program` goes on with the agent, by this name of its or an
    earlier one."""
    name, _, version = program.partition("@")
    return version == agent.version and name in (agent.name, *agent.aliases)


def _end(inner: ActiveRun) -> Outcome | None:
    """How the agent ended, as far as that is recorded."""
    end = next((fact for _, fact in inner.facts if isinstance(fact, Finished)), None)
    return None if end is None else outcome_of(end)


def _shown(run: ActiveRun, call: Call, program: str) -> Callable[[Any], None]:
    """What passes in the agent, shown to who watches its outer agent."""
    agent, deltas = program.partition("@")[0], count()

    def show(event: InnerPassing) -> None:
        run.show(
            SubagentDeltaEvent(
                turn=event.turn,
                attempt=event.attempt,
                delta_id=next(deltas),
                call_id=call.id,
                agent=agent,
                event=event,
            )
        )

    return show


def _outer(path: str, call: Call, ask: Ask) -> Ask:
    """A question of the agent's, as one of its outer agent's."""
    question = ask.question
    assert isinstance(question, Pending)
    within = (call.name, *question.within)
    return Ask(path + ask.key, msgspec.structs.replace(question, within=within))


def _told(call: Call, tool: AgentTool, end: Outcome, state: AgentState) -> ToolMessage:
    if end.finish == "answer":
        text = render(end.output, tool.max_result_chars)
        return ToolMessage(call.id, call.name, text, "ok")
    if end.finish is None:
        return ToolMessage(
            call.id, call.name, f"{call.name} could not work: its model failed.", "error"
        )
    why = end.finish if end.reason is None else f"{end.finish}: {end.reason}"
    text = f"{call.name} ended without an answer ({why})."
    if state.text:
        text += f" The last that it wrote: {state.text}"
    return ToolMessage(call.id, call.name, render(text, tool.max_result_chars), "error")


async def _task(program: Follows, tool: AgentTool, checked: Any) -> Task:
    return Task(program.key, AgentInput(message=tool.message(checked)))


async def _same(value: T) -> T:
    return value
