"""One call of a transactional tool, inside the transaction that records its result."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable
from typing import Any

import msgspec

from remit.tools.abandoned import Abandoned
from remit.tools.context import Life, ToolContext
from remit.tools.execute import Outcome, answer, execute, failed, timed_out
from remit.tools.tool import Tool
from remit.values.clock import Clock
from remit.values.errors import LetGo

_STEPS = 10_000
"""How many steps of SQLite's machine go between two looks at the time: some 0.1 ms."""


class Undone(Exception):
    """The call did not come to its end, so that its transaction must not be committed. `why` is
    what became of it, or the LetGo that it raised; None where it was told to stop."""

    def __init__(self, why: Outcome | LetGo | None = None) -> None:
        super().__init__()
        self.why = why


class Inside:
    """Makes the call when it is given the transaction, as often as it is; raises Undone alone.

    An async tool gives an awaitable and is bounded like any other. A sync one runs on the thread
    that it is called on, which nothing can free of it: past its time, or when it is to `stop`,
    its statements fail, and what it returns is too late.
    """

    def __init__(
        self,
        tool: Tool,
        checked: Any,
        context: ToolContext[Any],
        clock: Clock,
        abandoned: Abandoned,
        grace: float,
    ) -> None:
        self.tool = tool
        self._checked = checked
        self._given = context
        self._clock = clock
        self._abandoned = abandoned
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._variables = contextvars.copy_context()
        self._stopped = False
        self._context = context
        self._task: asyncio.Task[Outcome | LetGo] | None = None

    def __call__(self, tx: Any) -> Outcome | Awaitable[Outcome]:
        if self._stopped:
            raise Undone
        seconds = self.tool.seconds
        deadline = None if seconds is None else self._clock.steady() + seconds
        self._context = msgspec.structs.replace(self._given, tx=tx, deadline=deadline, life=Life())
        return self._awaited() if self.tool.is_async else self._called(tx)

    def stop(self) -> None:
        """Let the call end without a result; from the loop's thread."""
        self._stopped = True
        self._context.life.cancel()
        if self._task is not None:
            self._task.cancel()

    def _called(self, tx: Any) -> Outcome:
        context = self._context
        context.life.begin(self._loop, context.report, self._clock)
        bound = getattr(tx, "set_progress_handler", None)
        if bound is not None:
            bound(self._is_over, _STEPS)
        if self.tool.seconds is not None:
            self._abandoned.bounds[self] = self.tool.seconds
        try:
            value = self._variables.run(self.tool.call, self._checked, context)
            outcome = answer(self.tool, value)
        except BaseException as error:
            raise self._undone(error) from error
        finally:
            self._abandoned.bounds.pop(self, None)
            context.life.end(left_behind=False)
            if bound is not None:
                bound(None, 0)
        if self._is_over():
            raise self._undone(None)
        return outcome

    async def _awaited(self) -> Outcome:
        async with asyncio.TaskGroup() as tasks:
            self._task = tasks.create_task(self._ended())
        if self._task.cancelled():
            raise Undone
        found = self._task.result()
        if isinstance(found, LetGo) or not found.returned:
            raise Undone(found)
        return found

    async def _ended(self) -> Outcome | LetGo:
        try:
            return await execute(
                self.tool,
                self._checked,
                self._context,
                clock=self._clock,
                abandoned=self._abandoned,
                grace=self._grace,
            )
        except LetGo as let_go:
            return let_go

    def _is_over(self) -> bool:
        """Whether the call must not go on."""
        deadline = self._context.deadline
        return self._stopped or (deadline is not None and self._clock.steady() >= deadline)

    def _undone(self, error: BaseException | None) -> Undone:
        if self._stopped:
            return Undone()
        if error is None or self._is_over():
            return Undone(timed_out(self.tool))
        try:
            return Undone(failed(self.tool, error))
        except LetGo as let_go:
            return Undone(let_go)
