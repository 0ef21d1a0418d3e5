"""What an operator sees of one run: the run, and who decided what about its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remit.agent.state import Decision
from remit.app import App
from remit.app.decided import asked, recorded
from remit.cli.attempts import Attempts, attempts_of
from remit.cli.steps import Step, inside_of, steps_of
from remit.flow.view import is_flow
from remit.host.readers import facts_of
from remit.kernel.facts import Answered, Paused
from remit.kernel.interrupt import Answer, read_answer
from remit.store.protocol import Store
from remit.values import codec
from remit.values.identity import Caller
from remit.values.messages import ToolMessage
from remit.values.moment import moment
from remit.values.results import Pending, Question, Run


@dataclass(frozen=True, slots=True)
class Decided:
    """A person's decision about one call."""

    verdict: str
    reason: str | None
    by: Caller | None
    at: datetime

    @property
    def who(self) -> str:
        """The user who decided."""
        return (self.by.user if self.by else None) or "somebody"


@dataclass(frozen=True, slots=True)
class Sight:
    """A run, the decisions about its calls by call id, and what it waits for; it `listens` where
    a message brings it on. A workflow's has steps. `inside` are the agents that worked in calls of
    agents, by the calls' ids. `attempts` are those of the run's own agent."""

    run: Run
    decided: Mapping[str, Decided]
    is_flow: bool = False
    steps: Sequence[Step] = ()
    listens: bool = False
    inside: Mapping[str, Step] = field(default_factory=dict)
    attempts: Attempts = field(default_factory=dict)

    @property
    def waiting(self) -> tuple[Pending, ...]:
        """The pending calls that nobody has decided."""
        # A call that was approved once may wait again, when its process died while it ran.
        return tuple(one for one in self.run.pending if isinstance(one, Pending))

    @property
    def questions(self) -> tuple[Question, ...]:
        """What a workflow's run asks people."""
        return tuple(one for one in self.run.pending if isinstance(one, Question))

    @property
    def results(self) -> Mapping[str, ToolMessage]:
        """Results by call id."""
        steps = [*self.steps, *self.inside.values()]
        inner = [message for step in steps for message in step.messages]
        return {
            message.call_id: message
            for message in [*self.run.messages, *inner]
            if isinstance(message, ToolMessage)
        }


async def look(app: App, store: Store, run: str) -> Sight:
    """The run as it stands, with the decisions that its driver has not taken yet, too.

    Raises RunNotFoundError.
    """
    found = await app.get(run)
    journal = await facts_of(store, run)
    facts = [fact for _, fact in journal]
    calls = {key: one.id for key, one in asked(facts).items() if isinstance(one, Pending)}
    answers = {
        signal.key: read_answer(signal.answer)
        for signal in await store.signals(run)
        if signal.answer is not None
    }
    given: dict[str, Answer | Answered] = {**answers, **recorded(facts)}
    decided = {
        calls[key]: _decided(answer.value, answer.by, answer.at)
        for key, answer in given.items()
        if key in calls
    }
    last, flows = facts[-1], is_flow(journal)
    return Sight(
        run=found,
        decided=decided,
        is_flow=flows,
        steps=steps_of(run, journal) if flows else (),
        listens=found.status == "paused" and isinstance(last, Paused) and last.listens,
        inside=inside_of(run, journal),
        attempts={} if flows else attempts_of(journal),
    )


def _decided(value: Any, by: Caller | None, at: int) -> Decided:
    decision = codec.convert(value, Decision)
    return Decided(
        verdict=decision.verdict,
        reason=decision.reason,
        by=by,
        at=moment(at * 1000),
    )
