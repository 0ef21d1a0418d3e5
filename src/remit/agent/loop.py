"""An agent's loop: a program of the kernel's like any other, with no durability of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, assert_never

import msgspec

from remit.agent import prompt
from remit.agent.act import Actor
from remit.agent.answer.malformed import TRIES
from remit.agent.answer.reading import Terms
from remit.agent.answer.typed import MISFITS
from remit.agent.brakes import check
from remit.agent.budget import Budget, closing, spent
from remit.agent.folder import Folder
from remit.agent.hooks import Hooked
from remit.agent.inside import AgentTool, Delegates, Outer, Time
from remit.agent.plan import Deps, Plan
from remit.agent.recorded.folds import Folds
from remit.agent.recorded.verdicts import Braked, Closing, given
from remit.agent.routing import Route
from remit.agent.state import AgentInput, AgentState, derive
from remit.agent.think import step_name, think, unasked
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.models.request import Stop
from remit.tools.abandoned import Abandoned
from remit.values import codec
from remit.values.messages import Message
from remit.values.results import Finish

T = TypeVar("T")
_FINISHES: dict[Stop, Finish] = {
    "end": "answer",
    "calls": "answer",
    "length": "length",
    "refusal": "refusal",
    "pause": "answer",
}


class Think(msgspec.Struct, frozen=True):
    """Ask the model."""


class Act(msgspec.Struct, frozen=True):
    """Run the calls that have no result."""


class End(msgspec.Struct, frozen=True):
    """Stop, for this reason."""

    finish: Finish
    reason: str | None = None


class _TimeIsUp(Exception):
    """The budget's time ended."""


def next_move(state: AgentState, budget: Budget) -> Think | Act | End:
    """What a run does next, from what is known of it."""
    if state.stuck is not None:
        return End("stuck", state.stuck.brake)
    if state.told.invalid:
        return End("exhausted", "invalid_output")
    if state.open_calls:
        return Act()
    if state.faults.malformed >= TRIES:
        return End("exhausted", "malformed_output")
    if state.faults.misfits >= MISFITS:
        return End("exhausted", "invalid_output")
    if not state.unanswered:
        return End("seconds" if state.late else _FINISHES[state.stop])
    if state.closing is not None:
        turn, bound = state.closing
        finish = None if turn == len(state.turns) else bound
    else:
        finish = spent(state, budget)
    if finish is None:
        return Think()
    # A message came after an answer, and no turn is left for it: the answer stays one.
    return End(_FINISHES[state.stop] if state.stands else finish)


class AgentProgram:
    """Drives an agent's runs. One for each agent and process."""

    def __init__(self, plan: Plan, abandoned: Abandoned | None = None) -> None:
        self.plan = plan
        self.abandoned = Abandoned() if abandoned is None else abandoned
        self._specs = prompt.specs(plan.tools.values())
        self._inside = {
            name: AgentProgram(tool.agent.plan(plan.granted), self.abandoned)
            for name, tool in plan.tools.items()
            if isinstance(tool, AgentTool)
        }

    @property
    def key(self) -> str:
        """`name@version`."""
        return f"{self.plan.name}@{self.plan.version}"

    async def drive(self, run: ActiveRun) -> Outcome:
        """Take turns until the run is answered, spent or waiting for a person."""
        return await self.follow(run, AgentState(run.id, run.path))

    async def follow(
        self, run: ActiveRun, state: AgentState, above: Outer | None = None
    ) -> Outcome:
        """`drive`, on a fresh `state` that the caller may read meanwhile; inside the call of the
        agent `above`, if any."""
        drive = await self._begin(run, state, above)
        plan, hooked = drive.plan, drive.actor.hooked
        budget, time = plan.budget, drive.time
        timed = budget.limit_seconds is not None
        try:
            while True:
                state.catch_up(run.facts)
                if state.failures.calls or state.failures.successor != drive.successor:
                    drive = await drive.routed()
                move = next_move(state, budget)
                if hooked.looks and await drive.look(move):
                    continue
                thinks = move.__class__ is Think
                if thinks and run.hears:
                    await drive.listen()
                calm = state.streaks.calm and not state.cut
                braked = None if calm else check(state, plan.brakes, plan.polls)
                if braked is not None and (braked.stops or thinks):
                    await run.step(f"turn:{len(state.turns) - 1}/brake", given(braked), Braked)
                    continue
                bound = closing(state, budget) if plan.on_limit == "answer" else None
                if bound is not None:
                    await run.step(f"turn:{len(state.turns)}/last", given(Closing(bound)), Closing)
                    continue
                if drive.folder.full or (thinks and above is not None):
                    move = drive.bound(move, above)
                if isinstance(move, End):
                    return await drive.end(move)
                await (
                    drive.in_time(partial(drive.make, move))
                    if timed
                    else drive.make(move, Time(None, time))
                )
        except _TimeIsUp:
            return Outcome(status="failed", finish="seconds")
        finally:
            # What was recorded until an error, a pause or the end of the time counts, too.
            state.catch_up(run.facts)

    async def _begin(self, run: ActiveRun, state: AgentState, above: Outer | None) -> _Drive:
        asked = codec.convert(run.asked.input, AgentInput)
        plan = self.plan if asked.model is None else self.plan.remodel(asked.model)
        folder = Folder(plan, self._specs, await _past(run, asked, state))
        deps = Deps(plan.deps, run) if above is None else above.deps
        least = None if above is None else above.least
        hooked = Hooked(plan.hooks, plan.budget, run, state, deps.build, least)
        delegates = None
        if self._inside:
            delegates = Delegates(self._inside, Outer(run, state, plan.budget, deps, above))
        actor = Actor(plan, self.abandoned, run, hooked, deps, delegates)
        time = None if above is None else above.time
        route = Route(plan, run, state, least)
        return _Drive(plan, run, state, actor, folder, plan.terms, time, route)


@dataclass(frozen=True, slots=True)
class _Drive:
    """What the moves of one drive are made with."""

    plan: Plan
    run: ActiveRun
    state: AgentState
    actor: Actor
    folder: Folder
    terms: Terms
    time: Time | None
    route: Route
    successor: str | None = None

    async def routed(self) -> _Drive:
        """The drive with the model that took over, once that may be asked. Raises what ended the
        run."""
        failures = self.state.failures
        if failures.calls and failures.calls[-1].ends:
            self.state.raised = self.state.raised or failures.calls[-1].error
            raise self.state.raised
        await self.route.rest()
        name = failures.successor
        if name == self.successor:
            return self
        plan = self.plan.passed_to(name)
        folder, route = self.folder.moved(plan), self.route.of(plan)
        return replace(self, plan=plan, folder=folder, route=route, successor=name)

    async def in_time(self, work: Callable[[Time], Awaitable[T]]) -> T:
        """What `work` gives. Raises _TimeIsUp if the budget's time ends before it."""
        limit = self.plan.budget.limit_seconds
        if limit is None:
            return await work(Time(None, self.time))
        time = Time(max(limit - self.state.seconds, 0.0), self.time)
        assert time.limit is not None
        try:
            async with time.limit:
                found = await work(time)
        except TimeoutError:
            if not time.limit.expired():
                raise
        else:
            # An answer that was cut short by it is recorded, and ends the run all the same.
            if not time.limit.expired():
                return found
        raise _TimeIsUp

    def bound(self, move: Think | Act | End, above: Outer | None) -> Think | Act | End:
        """The move, or the end of a run whose history has no room left, or whose outer agents have
        nothing left for a model call."""
        if self.folder.full:
            return End("exhausted", "context")
        if above is None:
            return move
        barred = above.bars(self.run, self.route.step(step_name(len(self.state.turns))))
        return move if barred is None else End(barred)

    async def listen(self) -> None:
        """See what somebody sent, before the next model call."""
        await self.run.take_news()
        self.state.catch_up(self.run.facts)

    async def look(self, move: Think | Act | End) -> bool:
        """Show the hooks what there is to see; whether something new is recorded."""
        is_answer = isinstance(move, End) and move.finish == "answer"
        return await self.in_time(lambda _: self.actor.hooked.look(is_answer=is_answer))

    async def end(self, end: End) -> Outcome:
        """What the run ends with."""
        if end.finish == "answer":
            return await self.in_time(lambda _: _answer(self.run, self.state, self.plan))
        return Outcome(status="failed", finish=end.finish, reason=end.reason)

    async def make(self, move: Think | Act, time: Time) -> None:
        """Make the move."""
        plan, run, state, route = self.plan, self.run, self.state, self.route
        match move:
            case Think():
                turn = len(state.turns)
                if not (state.messages or self.folder.past):
                    await unasked(run, turn)
                    return
                if plan.hooks.prepare_turn is not None:
                    await self.actor.hooked.prepare(plan.tools, plan.remodel)
                    prepared = state.prepared(turn)
                    if prepared is not None and prepared.model is not None:
                        plan = plan.remodel(prepared.model)
                        route = route.of(plan)
                if route.is_off:
                    await route.pass_on(step_name(turn), (*self.folder.past, *state.messages))
                    return
                request = self.folder.request(state, plan)
                if request is None:
                    await self.folder.fold(run, state, route)
                    return
                if plan.form is not None:
                    request = plan.form.asked(request)
                await think(run, turn, route, request, self.terms, time.ends)
            case Act():
                waiting = await self.actor.act(state, time)
                if waiting:
                    run.pause(waiting)
            case _:
                assert_never(move)


async def _past(
    run: ActiveRun, asked: AgentInput, state: AgentState
) -> tuple[Sequence[Message], Folds | None]:
    """What was said before, and how it was folded: by the runs that this one builds on, earlier
    ones of its thread or a fork's, or else in its history, where decisions may yet change it."""
    if run.asked.thread is None and asked.fork is None:
        return state.history, None
    past: list[Message] = []
    folds = Folds()
    for facts in await run.lineage():
        earlier = derive(run.id, enumerate(facts, 1))
        past += [*earlier.history, *earlier.messages]
        folds = earlier.folds.after(folds)
    if not folds.cleared and folds.brief is None:
        return past, None
    return past, Folds(cleared=folds.cleared, brief=folds.brief)


async def _answer(run: ActiveRun, state: AgentState, plan: Plan) -> Outcome:
    text = state.text
    output: Any = text if plan.form is None else codec.decode(text.encode(), object)
    if plan.ending is not None:
        value = output if plan.form is None else plan.form.build(output)
        output = await plan.ending.make(run, state, value)
    return Outcome(status="succeeded", finish="answer", output=output)
