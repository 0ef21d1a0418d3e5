"""Builders for the tests of tools."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.testing.clock import ManualClock
from remit.tools.abandoned import Abandoned
from remit.tools.context import Report, ToolContext
from remit.tools.execute import Outcome, execute
from remit.tools.tool import Tool, tool
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


@tool
async def add(a: int, b: int = 2) -> int:
    """Adds."""
    await asyncio.sleep(0)
    return a + b


@tool
def shout(word: str) -> str:
    """Shouts."""
    return word.upper()


def raising(error: BaseException, **options: Any) -> tuple[Tool, Tool]:
    """An async and a sync tool that raise it."""

    async def fails() -> None:
        """Fails."""
        raise error

    def fails_on_a_thread() -> None:
        """Fails."""
        raise error

    return tool(fails, **options), tool(fails_on_a_thread, **options)


def stubborn(**options: Any) -> tuple[Tool, list[int], asyncio.Event]:
    """A tool that answers every cancel by going on, how often it did, and that it has begun."""
    answers: list[int] = []
    begun = asyncio.Event()

    async def goes_on() -> None:
        """Goes on."""
        while True:
            begun.set()
            try:
                await asyncio.sleep(0.001)
            except BaseException:
                answers.append(1)

    return tool(goes_on, **options), answers, begun
