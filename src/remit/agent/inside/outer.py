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
    """Who let an agent work: its run and what is known of it, its budget, what its tools are lent,
    what is left of its time for the move that is made, and its own outer agent."""

    run: ActiveRun
    state: AgentState
    budget: Budget
    deps: Deps
    above: Outer | None = None
    time: Time | None = None

    def bars(self, inner: ActiveRun, step: str) -> Finish | None:
        """Why the agent with the run `inner` may not make the model call with this step, None if
        it may: what is spent of cost and tokens is all that its outer agents have."""
        past = inner.past
        if past is not None:
            if past.holds(step):
                return None
            if past.holds(END):
                # What ran beside it was known when it ended; how much of that is told by its end.
                past.recall(END)
        rest = self.least({})
        if rest["cost"] == 0:
            return "budget"
        return "tokens" if rest["tokens"] == 0 else None

    def least(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """The `rest` of each bound of an agent below, or what is left here of cost, tokens and
        seconds, or further above, where that is less."""
        self.state.catch_up(self.run.facts)
        own = left(self.state, self.budget)
        found = {**rest}
        for name in ("cost", "tokens", "seconds"):
            bounds = [each for each in (rest.get(name), own[name]) if each is not None]
            found[name] = min(bounds, default=None)
        return found if self.above is None else self.above.least(found)
