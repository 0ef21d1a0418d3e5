"""Builders for the tests of tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.testing.clock import ManualClock
from remit.tools.abandoned import Abandoned
from remit.tools.context import Report, ToolContext
from remit.tools.execute import Outcome, execute
from remit.tools.tool import Tool
from remit.values.clock import Clock, SystemClock


def context(report: Report | None = None) -> ToolContext[None]:
    """The context of some call."""
    return ToolContext(
        run_id="run_1", turn=1, call_id="c_1", idempotency_key="k_1", deps=None, report=report
    )


@dataclass
class Desk:
    """Where a test runs its tools."""

    clock: Clock = field(default_factory=SystemClock)
    abandoned: Abandoned = field(default_factory=Abandoned)
    grace: float = 0.02

    async def run(
        self,
        tool: Tool,
        arguments: Mapping[str, Any] | None = None,
        ctx: ToolContext[Any] | None = None,
    ) -> Outcome:
        """One call, from its raw arguments to its outcome."""
        return await execute(
            tool,
            tool.check(arguments or {}),
            ctx or context(),
            clock=self.clock,
            abandoned=self.abandoned,
            grace=self.grace,
        )


def manual() -> tuple[Desk, ManualClock]:
    """A desk whose time stands still until it is moved."""
    clock = ManualClock()
    return Desk(clock=clock), clock
