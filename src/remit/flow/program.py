"""A workflow's function as the kernel drives it: again from its start, over what is recorded."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.flow.run import Engage, Kit, WorkflowRun
from remit.flow.shape import MisfitError, Shape
from remit.kernel.course import Course
from remit.kernel.exits import is_error
from remit.kernel.program import Outcome, told_error
from remit.kernel.run import ActiveRun
from remit.kernel.scope import Scope
from remit.kernel.script import Item
from remit.tools.abandoned import Abandoned
from remit.values import codec
from remit.values.errors import ConfigError


class FlowInput(msgspec.Struct, frozen=True, tag="workflow", tag_field="t"):
    """The input of a workflow's run, plain, as its first fact holds it."""

    input: Any


class WorkflowProgram:
    """Drives a workflow's runs. One for each workflow and process; `abandoned` owns what its
    steps left running."""

    def __init__(
        self, key: str, function: Any, takes: Shape, gives: Shape, engage: Engage | None
    ) -> None:
        self._key = key
        self._function = function
        self._takes = takes
        self._gives = gives
        self.abandoned = Abandoned()
        self._kit = Kit(self.abandoned, engage)

    @property
    def key(self) -> str:
        """`name@version`."""
        return self._key

    async def drive(self, run: ActiveRun) -> Outcome:
        """Call the function, whose recorded steps answer from the journal, to its end."""
        scope = Scope(Course(run))
        input = self._input(run, scope)
        try:
            value = await self._function(WorkflowRun(scope, self._kit), input)
        except BaseExceptionGroup as group:
            # A task group of the function's own wraps what ends the drive, too.
            scope.close(f"an error: {told_error(group):.300}")
            raise
        except BaseException as error:
            if not is_error(error):
                raise
            # A record that goes on tells that older code did not come to this error.
            scope.close(f"an error: {told_error(error):.300}")
            raise
        scope.close()
        try:
            output = self._gives.keep(value)
        except MisfitError as misfit:
            raise ConfigError(
                f"the output of workflow {self.key} cannot be kept: {misfit}"
            ) from misfit
        return Outcome(status="succeeded", finish="answer", output=output)

    def _input(self, run: ActiveRun, scope: Scope) -> Any:
        try:
            return self._takes.load(codec.convert(run.asked.input, FlowInput).input)
        except MisfitError as misfit:
            item = Item("the input", 1)
            raise scope.course.differ(item, f"an input that must be another: {misfit}") from misfit
