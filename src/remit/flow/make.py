"""Making a step: calling the user's function once, and what it comes to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from remit.flow.shape import MisfitError, Shape
from remit.kernel.exits import ends_process
from remit.kernel.program import told_error
from remit.kernel.run import ActiveRun
from remit.kernel.scope import Made
from remit.tools.abandoned import Abandoned
from remit.tools.function import is_async
from remit.tools.work import in_task, on_thread
from remit.values.errors import LetGo

_log = logging.getLogger("remit.flow")


@dataclass(slots=True, eq=False)
class Making:
    """One step's function with its arguments, the shape that its value is kept in, and the
    seconds that it may take. `raised` is why it failed, if it did so here."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    shape: Shape
    seconds: float | None
    raised: BaseException | None = None

    @property
    def longest(self) -> float:
        """How long what a dead process left running may go on: a thread to its timeout."""
        return 0.0 if self.seconds is None or is_async(self.function) else self.seconds

    async def make(self, run: ActiveRun, abandoned: Abandoned) -> Made:
        """Call it. What lets the run go, and a cancel, are raised on and no end of the step."""
        begin = in_task if is_async(self.function) else on_thread
        call = partial(self.function, *self.arguments)
        attempt = begin(self.name, call, _as_it_is, abandoned.threads)
        grace = run.tenure.grace
        try:
            in_time = await abandoned.bound(attempt, self.seconds, grace, run.clock, _unheard)
        except BaseException:
            run.left_behind = run.left_behind or attempt.work.goes_on
            raise
        if not in_time:
            return Made(error=f"it took longer than its timeout of {self.seconds:g} seconds")
        if attempt.error is not None:
            return self._failed(attempt.error)
        try:
            return Made(self.shape.keep(attempt.value))
        except MisfitError as misfit:
            return self._failed(misfit, f"it ran, and its value cannot be kept: {misfit}")

    def _failed(self, error: BaseException, told: str | None = None) -> Made:
        for leaf in _leaves(error):
            if isinstance(leaf, LetGo) or ends_process(leaf):
                raise leaf
        _log.warning("step %s failed", self.name, exc_info=error)
        self.raised = error
        return Made(error=told or told_error(error))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _as_it_is(value: Any) -> Any:
    if asyncio.iscoroutine(value):
        value.close()
    return value


def _unheard() -> None:
    """A step's function is told by its cancel alone."""
