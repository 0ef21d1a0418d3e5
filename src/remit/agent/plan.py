"""What an agent's loop needs to know of its agent."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.agent.answer.finalize import Ending
from remit.agent.answer.given import TEXT, Given
from remit.agent.answer.reading import Terms
from remit.agent.answer.typed import FINAL, Builds, Form
from remit.agent.brakes import Brakes
from remit.agent.budget import Budget, OnLimit
from remit.agent.fold import Fold
from remit.agent.hooks.hooks import Hooks
from remit.kernel.run import ActiveRun
from remit.models.protocol import Card, Model
from remit.models.retry import Retry
from remit.tools.tool import Tool
from remit.values.errors import ConfigError, StoreError

DepsFactory = Callable[[str | None, str | None], Any | Awaitable[Any]]
"""Builds a run's `deps` from its user and its tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An agent, resolved for the place where it runs: its model is there, and `tools` are those
    that `granted` allows. `remodel` is the same plan with another model by its name; `heirs` are
    those with the models that may take over, in order, and `retry` how often one is asked again.
    `polls` are the names of the tools that poll. `given` makes the messages, `form` is that of
    the answers, and `ending` comes last."""

    name: str
    version: str
    model: Model
    instructions: str
    tools: Mapping[str, Tool]
    granted: frozenset[str]
    budget: Budget
    parallel: int
    max_output: int
    remodel: Callable[[str], Plan]
    heirs: tuple[Plan, ...] = ()
    retry: Retry = field(default_factory=Retry)
    deps: DepsFactory | None = None
    brakes: Brakes | None = None
    polls: frozenset[str] = frozenset()
    fold: Fold | None = None
    on_limit: OnLimit = "stop"
    hooks: Hooks = field(default_factory=Hooks)
    given: Given = TEXT
    form: Form | None = None
    ending: Ending | None = None

    def passed_to(self, model: str | None) -> Plan:
        """The plan with the model of this name, which took over; this one where it has no such
        model any more."""
        return next((heir for heir in self.heirs if heir.model.name == model), self)

    @property
    def card(self) -> Card:
        """What is known of the first model that is not switched off."""
        plans = (plan for plan in (self, *self.heirs) if plan.model.card.enabled)
        return next(plans, self).model.card

    @property
    def terms(self) -> Terms:
        """What the agent's answers are held to."""
        final = () if self.form is None else (FINAL,)
        return Terms(self.brakes, self.form, frozenset((*self.tools, *final)))

    @property
    def builds(self) -> Builds | None:
        """What a run's output is built by."""
        return self.ending or self.form


class Deps:
    """What tools and hooks get of the app in one drive, built when it is first needed."""

    __slots__ = ("_factory", "_run", "are_built", "value")

    def __init__(self, factory: DepsFactory | None, run: ActiveRun) -> None:
        self._factory, self._run = factory, run
        self.are_built = factory is None
        self.value: Any = None

    async def build(self) -> Any:
        """The deps. Raises what their factory raises."""
        if self.are_built or self._factory is None:
            return self.value
        try:
            built = self._factory(self._run.asked.user, self._run.asked.tenant)
            self.value = await built if inspect.isawaitable(built) else built
        except StoreError as error:
            # Another store's; passed on it would be taken for the failure of the run's own.
            raise ConfigError(f"the App's deps could not be built: {error}") from error
        self.are_built = True
        return self.value
