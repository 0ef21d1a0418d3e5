"""Where a recorded run can be forked, and what its fork is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit.agent.parts import Content, check_accepted, user_message
from remit.agent.state import AgentInput, AgentState
from remit.app.house import House
from remit.app.roster import AnyAgent, key_of, thread_name
from remit.app.starting import Starting
from remit.host.client import Start
from remit.host.readers import facts_of
from remit.kernel.facts import AnyFact
from remit.store.protocol import Store
from remit.store.records import Base
from remit.values.errors import ConfigError, ThreadBusyError

_FORMAT = 2
"""The oldest format of entries whose readers know forks."""


class NothingToAnswerError(ConfigError):
    """A fork's model would have nothing to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A recorded run, where another is to go on from it, and what that one is asked."""

    run: str
    after_turn: int | None
    message: Content | None
    model: str | None

    async def begin(self, house: House, agent: AnyAgent, starting: Starting, at: int) -> str:
        """Make the fork, as a run of `agent`; its id. Raises ConfigError where that cannot be: no
        such turn, nothing to answer, a thread that is not new, a model without rates."""
        start = await self._start(house.store, agent, starting, at)
        try:
            return await house.client.submit(start)
        except ThreadBusyError as busy:
            raise ConfigError(
                f"a fork needs a thread of its own, and {busy.thread!r} has run {busy.run}"
            ) from None

    async def _start(self, store: Store, agent: AnyAgent, starting: Starting, at: int) -> Start:
        message = None if self.message is None else user_message(self.message)
        if self.model is not None:
            agent.replace(model=self.model).plan(frozenset())
        if message is not None:
            model = agent if self.model is None else agent.replace(model=self.model)
            check_accepted(model.card, [message])
        seq = fork_point(self.run, await facts_of(store, self.run), self.after_turn, message)
        asked = starting.asked(AgentInput(message=message, fork=self.run, model=self.model), at)
        base = Base(self.run, seq)
        return starting.start(key_of(agent), asked, thread_name(agent), base=base, format=_FORMAT)


def fork_point(
    run: str, facts: Sequence[tuple[int, AnyFact]], after_turn: int | None, message: object
) -> int:
    """The sequence number that the fork builds on: where the turn's last result is recorded.

    Turns are counted from 0; None means the last complete one. Raises ConfigError where there is
    no such turn, and where the model would have nothing to answer.
    """
    state = AgentState(run)
    ends: list[int] = []
    unkept: set[int] = set()
    for seq, fact in facts:
        state.advance(seq, fact)
        if len(state.turns) > len(ends) and not state.open_calls:
            if state.faults.raw is not None:
                unkept.add(len(ends))
            ends.append(seq)
    if not ends:
        raise ConfigError(f"run {run} has no complete turn yet: start a new run instead")
    turn = len(ends) - 1 if after_turn is None else after_turn
    if type(turn) is not int or not 0 <= turn < len(ends):
        raise ConfigError(
            f"run {run} has no complete turn {after_turn!r:.80}: its turns are 0 to {len(ends) - 1}"
        )
    if message is None and not state.turns[turn].calls:
        what = "gave nothing that was kept" if turn in unkept else "is an answer"
        raise NothingToAnswerError(f"turn {turn} of run {run} {what}: give the fork a message=")
    return ends[turn]
