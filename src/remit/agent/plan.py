"""What an agent's loop needs to know of its agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.agent.brakes import Brakes
from remit.agent.budget import Budget
from remit.agent.hooks.hooks import Hooks
from remit.models.protocol import Model
from remit.tools.tool import Tool

DepsFactory = Callable[[str | None, str | None], Any | Awaitable[Any]]
"""Builds a run's `deps` from its user and its tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An agent, resolved for the place where it runs: its model is there, and `tools` are those
    that `granted` allows. `remodel` is the same plan with another model by its name.
    `polls` are the names of the tools that poll."""

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
    deps: DepsFactory | None = None
    brakes: Brakes | None = None
    polls: frozenset[str] = frozenset()
    hooks: Hooks = field(default_factory=Hooks)
