"""What was done inside a run: a workflow's steps, and the agents that worked there, with their
turns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.agent.state import AgentState, derive
from remit.cli.attempts import Attempts, attempts_of
from remit.flow.view import Facts
from remit.kernel.facts import Stepped
from remit.kernel.nested import Task, own_facts
from remit.values import codec
from remit.values.messages import Message
from remit.values.results import Turn

_AGENT = re.compile(r"((?:gather:\d+/\d+/)*agent:\d+)/")
_INSIDE = re.compile(r"(?P<outer>.*)turn:(?P<turn>\d+)/call:(?P<call>\d+)/agent/asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that is done. `took` is in milliseconds, and an agent's the sum of its own steps.

    With `agent` (`name@version`) an agent worked there, and may do so still.
    """

    name: str
    took: int
    error: str | None = None
    agent: str | None = None
    turns: Sequence[Turn] = ()
    messages: Sequence[Message] = ()
    attempts: Attempts = field(default_factory=dict)


def steps_of(run: str, facts: Facts) -> list[Step]:
    """The steps of a workflow's run, in the order in which they were recorded or begun."""
    found: dict[str, Step | None] = {}
    for _, fact in facts:
        if not isinstance(fact, Stepped):
            continue
        inner = _AGENT.match(fact.name)
        if inner is not None:
            found.setdefault(inner[1])
        else:
            found[fact.name] = Step(name=fact.name, took=fact.took, error=fact.error)
    return [step or _agents(run, name, facts) for name, step in found.items()]


def inside_of(run: str, facts: Facts) -> dict[str, Step]:
    """The agents that worked in calls of other agents, at whatever depth, by the calls' ids."""
    states: dict[str, AgentState] = {}
    found: dict[str, Step] = {}
    for _, fact in facts:
        place = _INSIDE.fullmatch(fact.name) if isinstance(fact, Stepped) else None
        if place is None:
            continue
        outer, turn, number = place["outer"], int(place["turn"]), int(place["call"])
        if outer not in states:
            own = own_facts(facts, outer) if outer else facts
            states[outer] = derive(run, own, outer)
        call = states[outer].turns[turn].calls[number]
        found[call.id] = _agents(run, f"{outer}turn:{turn}/call:{number}/agent", facts)
    return found


def _agents(run: str, name: str, facts: Facts) -> Step:
    path = f"{name}/"
    steps = {
        fact.name.removeprefix(path): fact
        for _, fact in facts
        if isinstance(fact, Stepped) and fact.name.startswith(path)
    }
    asked, end = steps.pop("asked", None), steps.pop("end", None)
    own = own_facts(facts, path)
    state = derive(run, own, path)
    return Step(
        name=name,
        took=sum(fact.took for fact in steps.values()),
        error=end.error if end else None,
        agent=codec.convert(asked.value, Task).program if asked else None,
        turns=tuple(state.turns),
        messages=tuple(state.all_messages()),
        attempts=attempts_of(own),
    )
