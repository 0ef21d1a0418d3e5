"""The agent that let another work, as far as it bounds that one."""

from __future__ import annotations

from dataclasses import dataclass

from remit.agent.budget import Budget, left
from remit.agent.inside.time import Time
from remit.agent.plan import Deps
from remit.agent.state import AgentState
from remit.kernel.nested import END
from remit.kernel.run import ActiveRun
from remit.values.results import Finish


@dataclass(frozen=True, slots=True)
class Caller:
    """Who let an agent work: its run and what is known of it, its budget, what its tools are lent,
    what is left of its time for the move that is made, and its own caller."""

    run: ActiveRun
    state: AgentState
    budget: Budget
    deps: Deps
    above: Caller | None = None
    time: Time | None = None

    def bars(self, inner: ActiveRun, step: str) -> Finish | None:
        """Why the agent with the run `inner` may not make the model call with this step, None if
        it may: what is spent of cost and tokens is all that its callers have."""
        past = inner.past
        if past is not None:
            if past.holds(step):
                return None
            if past.holds(END):
                # What ran beside it was known when it ended; how much of that is told by its end.
                past.recall(END)
        return self._spent()

    def _spent(self) -> Finish | None:
        self.state.catch_up(self.run.facts)
        rest = left(self.state, self.budget)
        if rest["cost"] == 0:
            return "budget"
        if rest["tokens"] == 0:
            return "tokens"
        return None if self.above is None else self.above._spent()  # its own kind
