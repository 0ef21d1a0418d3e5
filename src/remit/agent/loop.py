"""An agent's loop: a program of the kernel's like any other, with no durability of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from remit.agent import prompt
from remit.agent.act import Actor, Time
from remit.agent.budget import Budget, spent
from remit.agent.plan import Plan
from remit.agent.state import AgentState, conversation
from remit.agent.think import think
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.models.request import Stop
from remit.tools.abandoned import Abandoned
from remit.values.messages import Message
from remit.values.results import Finish

_FINISHES: dict[Stop, Finish] = {
    "end": "answer",
    "calls": "answer",
    "length": "length",
    "refusal": "refusal",
}


class Think(msgspec.Struct, frozen=True):
    """Ask the model."""


class Act(msgspec.Struct, frozen=True):
    """Run the calls that have no result."""


class End(msgspec.Struct, frozen=True):
    """Stop, for this reason."""

    finish: Finish


def next_move(state: AgentState, budget: Budget) -> Think | Act | End:
    """What a run does next, from what is known of it."""
    if state.open_calls:
        return Act()
    if state.turns and not state.turns[-1].calls:
        return End(_FINISHES[state.stop])
    finish = spent(state, budget)
    return End(finish) if finish else Think()


class AgentProgram:
    """Drives an agent's runs. One for each agent and process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.abandoned = Abandoned()
        self._specs = prompt.specs(plan.tools.values())

    @property
    def key(self) -> str:
        """`name@version`."""
        return f"{self.plan.name}@{self.plan.version}"

    async def drive(self, run: ActiveRun) -> Outcome:
        """Take turns until the run is answered, spent or waiting for a person."""
        return await self.follow(run, AgentState(run.id))

    async def follow(self, run: ActiveRun, state: AgentState) -> Outcome:
        """`drive`, on a fresh `state` that the caller may read meanwhile."""
        past = await self._past(run)
        actor = Actor(self.plan, self.abandoned, run)
        try:
            while True:
                state.catch_up(run.facts)
                move = next_move(state, self.plan.budget)
                if isinstance(move, End):
                    return _outcome(state, move.finish)
                if not await self._in_time(move, run, state, past, actor):
                    return _outcome(state, "seconds")
        finally:
            # What was recorded until an error, a pause or the end of the time counts, too.
            state.catch_up(run.facts)

    async def _in_time(
        self,
        move: Think | Act,
        run: ActiveRun,
        state: AgentState,
        past: Sequence[Message],
        actor: Actor,
    ) -> bool:
        """Make the move; False if the budget's time ended before it."""
        limit = self.plan.budget.limit_seconds
        time = Time(None if limit is None else max(limit - state.seconds, 0.0))
        if time.limit is None:
            await self._move(move, run, state, past, actor, time)
            return True
        try:
            async with time.limit:
                await self._move(move, run, state, past, actor, time)
        except TimeoutError:
            if not time.limit.expired():
                raise
            return False
        return True

    async def _move(
        self,
        move: Think | Act,
        run: ActiveRun,
        state: AgentState,
        past: Sequence[Message],
        actor: Actor,
        time: Time,
    ) -> None:
        match move:
            case Think():
                plan = self.plan
                request = prompt.build(plan.instructions, self._specs, past, state, plan.max_output)
                await think(run, len(state.turns), plan.model, request)
            case Act():
                waiting = await actor.act(state, time)
                if waiting:
                    run.pause(waiting)
            case _:
                assert_never(move)

    async def _past(self, run: ActiveRun) -> list[Message]:
        """What earlier runs of the thread said."""
        if run.asked.thread is None:
            return []
        past: list[Message] = []
        for facts in await run.lineage():
            past.extend(conversation(run.id, facts))
        return past


def _outcome(state: AgentState, finish: Finish) -> Outcome:
    if finish == "answer":
        output: Any = state.text
        return Outcome(status="succeeded", finish="answer", output=output)
    return Outcome(status="failed", finish=finish)
