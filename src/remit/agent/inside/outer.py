"""The agent that let another work, as far as it bounds that one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remit.agent.budget import Budget, left
from remit.agent.inside.time import Time
from remit.agent.plan import Deps
from remit.agent.state import AgentState
from remit.kernel.nested import END
from remit.kernel.run import ActiveRun
from remit.values.results import Finish


@dataclass(frozen=True, slots=True)
class Outer:
    """The agent that let another work: its run and the state of that, its budget, what its tools
    are lent, its own outer agent (`above`), and what is left of its time for the move under way."""

    run: ActiveRun
    state: AgentState
    budget: Budget
    deps: Deps
    above: Outer | None = None
    time: Time | None = None

    def bars(self, inner: ActiveRun, step: str) -> Finish | None:
        """The finish of an agent that may not make the model call `step`, since its outer agents
        have no cost or no tokens left; None where it may. `inner` is the agent's run.

        In a replay a call that is recorded was allowed. Where none is and the agent has ended, what
        its outer agents had left is read as it stood at that end."""
        past = inner.past
        if past is not None:
            if past.holds(step):
                return None
            if past.holds(END):
                # Calls beside this one spend, too: recalling the end brings all recorded before it.
                past.recall(END)
        rest = self.least({})
        if rest["cost"] == 0:
            return "budget"
        return "tokens" if rest["tokens"] == 0 else None

    def least(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """`rest` is what an agent below has left of each bound. Of cost, tokens and seconds the
        least that it, this agent or any agent further out has left takes its place."""
        self.state.catch_up(self.run.facts)
        own = left(self.state, self.budget)
        found = {**rest}
        for name in ("cost", "tokens", "seconds"):
            bounds = [each for each in (rest.get(name), own[name]) if each is not None]
            found[name] = min(bounds, default=None)
        return found if self.above is None else self.above.least(found)
