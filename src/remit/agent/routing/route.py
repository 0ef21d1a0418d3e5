"""Which model is asked, and what becomes of it where it fails."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, assert_never

from remit.agent.budget import has_room, left
from remit.agent.inside.time import Time
from remit.agent.parts import check_accepted
from remit.agent.plan import Plan
from remit.agent.recorded.failed import Failed, error_fields
from remit.agent.recorded.steps import Attempted
from remit.agent.routing.charge import most, used
from remit.agent.routing.decide import Again, Stop, Switch, decide, maker
from remit.agent.state import AgentState
from remit.kernel.run import ActiveRun
from remit.models.assemble import Assembly
from remit.models.failure import Failure, classify
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.values.errors import ConfigError, ConnectionFailedError, ProviderError
from remit.values.messages import Message

Least = Callable[[Mapping[str, Any]], dict[str, Any]]
"""What is left of each bound, here or further above, where that is less."""
Purpose = Literal["turn", "brief"]
_log = logging.getLogger("remit.agent")
_LOOKS_EVERY = 1.0
"""After how many seconds of a wait it is seen that no call may follow it here."""


class Route:
    """The way to the model of `plan`: asking it, again where it failed, and who takes over. What
    failed before is in the run's `state`."""

    def __init__(
        self,
        plan: Plan,
        run: ActiveRun,
        state: AgentState,
        least: Least | None,
        purpose: Purpose = "turn",
    ) -> None:
        self.model = plan.model
        self.state = state
        self.is_off = not plan.model.card.enabled
        """Whether the model's card says that nobody asks it."""
        self._plan, self._run = plan, run
        self._least, self._purpose = least, purpose

    def of(self, plan: Plan, purpose: Purpose = "turn") -> Route:
        """The same run's way to the model of another plan, or for another purpose."""
        return Route(plan, self._run, self.state, self._least, purpose)

    def step(self, call: str) -> str:
        """The name of the next step that makes the model call `call`."""
        failed = self.state.failures.calls
        return f"{call}:{len(failed)}" if failed else call

    async def pass_on(self, call: str, messages: Iterable[Message]) -> None:
        """Record who takes over from a model that is switched off, in the place of the model call
        `call`. Raises ConfigError where nobody can."""

        async def refuse() -> Failed:
            return self._refused(messages)

        await self._run.step(self.step(call), refuse, Attempted)

    async def rest(self) -> None:
        """Wait until the model may be asked again. Raises as soon as the run may make no call here,
        since its lease has ended or the process leaves."""
        run, failures = self._run, self.state.failures
        if not failures.calls or run.past is not None:
            return
        clock = run.clock
        due = min(failures.rests_until / 1000 - run.wall(), failures.calls[-1].wait)
        ends = clock.steady() + due
        while (still := ends - clock.steady()) > 0:
            await clock.sleep(min(still, _LOOKS_EVERY))
            run.check()

    def fail(
        self,
        error: ProviderError | ConnectionFailedError,
        request: ModelRequest,
        assembly: Assembly,
        limit: Time | None,
    ) -> Failed:
        """What is recorded of the call that `error` ended, when `assembly` is what had come.
        Raises `error` where it charged nothing and nothing follows."""
        failure = classify(error, begun=assembly.told, usage=assembly.usage)
        if isinstance(error, ProviderError):
            error.may_cost = failure.may_cost
        usage, need = None, None
        if failure.charge == "something":
            assembly.close()
            usage = used(request, assembly, self.model, cut=True)
        elif failure.charge == "perhaps":
            # Where it told what was used and that it did no more, that is all of it.
            told_all = failure.reported and failure.why != "unanswered"
            if told_all:
                usage = used(request, assembly, self.model, cut=True)
            else:
                usage = most(request, assembly, self.model)
            need = usage + most(request, Assembly(), self.model)
        wait = self._plan.retry.wait(self._times(), failure.after, self._luck())
        rest = self._rest()
        time = math.inf if rest["seconds"] is None else rest["seconds"]
        if limit is not None:
            time = min(time, limit.left())
        fits = wait is not None and wait <= time and (need is None or has_room(rest, need))
        heirs = self._heirs(failure, request.messages)
        move = decide(failure, wait, fits=fits, heirs=heirs)
        _log.info("model %s failed (%s): %r", self.model.name, failure.why, move, exc_info=error)
        told: dict[str, Any] = {"model": self.model.name, "why": failure.why, "usage": usage}
        told["purpose"] = self._purpose
        told |= error_fields(error)
        match move:
            case Again(wait=seconds):
                return Failed(**told, wait=seconds)
            case Switch(model=name):
                return Failed(**told, next=name)
            case Stop():
                self.state.raised = error
                if usage is None:
                    raise error
                return Failed(**told, ends=True)
            case _:
                assert_never(move)

    def _refused(self, messages: Iterable[Message]) -> Failed:
        name = self.model.name
        heirs = self._heirs(Failure("off"), messages)
        if not heirs:
            raise ConfigError(
                f"model {name!r} is switched off by its card, and no other can take over: give"
                " Agent(model=[…]) another, or Card(enabled=True)"
            )
        return Failed(model=name, why="off", next=heirs[0], message="it is switched off")

    def _heirs(self, failure: Failure, messages: Iterable[Message]) -> list[str]:
        """The models that may take over: switched on, and able to read the conversation. Where
        money is at its end, another maker's."""
        own = maker(self.model) if failure.why == "spent" else None
        return [
            heir.model.name
            for heir in self._plan.heirs
            if heir.model.card.enabled
            and maker(heir.model) != own
            and _reads(heir.model.card, messages)
        ]

    def _times(self) -> int:
        """How often the model failed in a row, this time included."""
        times = 1
        for failed in reversed(self.state.failures.calls):
            if failed.next is not None:
                break
            times += 1
        return times

    def _luck(self) -> float:
        """A share from 0 to 1: another for each run, and the same however often it is driven."""
        run, state = self._run, self.state
        name = f"{run.id}/{run.path}{len(state.turns)}/{len(state.failures.calls)}"
        digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") / 2**32

    def _rest(self) -> dict[str, Any]:
        """What is left of each bound, the run's own and its outer agents'."""
        rest = left(self.state, self._plan.budget)
        return rest if self._least is None else self._least(rest)


def _reads(card: Card, messages: Iterable[Message]) -> bool:
    try:
        check_accepted(card, messages)
    except ConfigError:
        return False
    return True
