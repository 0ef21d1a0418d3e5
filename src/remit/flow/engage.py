"""What a workflow needs to know of an agent that it lets work: next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from remit.kernel.facts import AnyFact, Asked
from remit.kernel.program import Program


@dataclass(frozen=True, slots=True)
class Engagement:
    """An agent with its task: the program that is driven in the workflow's journal, what it is
    asked, and how its own facts are read in the end."""

    program: Program
    input: Any
    result: Callable[[Sequence[tuple[int, AnyFact]]], Any]


Engage = Callable[[Any, Any, Asked], Engagement]
"""Makes one of an agent (or its name), a message, and what the workflow's run was asked. Raises
ConfigError for what no agent can be asked."""
