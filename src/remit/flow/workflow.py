"""`@workflow`: from an async function to a description of what an App may run."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, overload

from remit.flow.program import FlowInput, WorkflowProgram
from remit.flow.run import Engage
from remit.flow.shape import UNTOLD, MisfitError, Shape, shape_of
from remit.tools import function as functions
from remit.values.errors import ConfigError

Function = Callable[..., Awaitable[Any]]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, eq=False)
class Workflow:
    """A durable function: `function(run, input)` with a name and a version. Runs keep the version
    that they began with.

    `takes` and `gives` are the shapes of its input and its output, from its annotations.
    """

    name: str
    version: str
    function: Function
    takes: Shape
    gives: Shape

    @property
    def key(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    def program(self, engage: Engage | None = None) -> WorkflowProgram:
        """What drives its runs; `engage` brings the agents that it lets work."""
        return WorkflowProgram(self.key, self.function, self.takes, self.gives, engage)

    def input(self, value: Any = None) -> FlowInput:
        """What the first fact of a run holds. Raises ConfigError for what does not fit."""
        try:
            return FlowInput(self.takes.keep(value))
        except MisfitError as misfit:
            raise ConfigError(f"the input of workflow {self.name!r}: {misfit}") from misfit


@overload
def workflow(function: Function, /) -> Workflow: ...


@overload
def workflow(*, name: str | None = None, version: str = "1") -> Callable[[Function], Workflow]: ...


def workflow(
    function: Function | None = None, /, *, name: str | None = None, version: str = "1"
) -> Workflow | Callable[[Function], Workflow]:
    """Make a workflow of `async def f(run, input) -> output`.

    Its name is the function's unless told. The annotations of `input` and of what is returned,
    if there are any, are types that Pydantic can check; else both are plain JSON data. Raises
    ConfigError for a function that cannot be one.
    """
    if function is not None:
        return _made(function, name, version, functions.caller())

    def make(function: Function) -> Workflow:
        return _made(function, name, version, functions.caller())

    return make


def _made(function: Any, name: str | None, version: str, frame: functions.Frame) -> Workflow:
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(
            f"a workflow is made of `async def f(run, input)`, not of {function!r:.80}"
        )
    called = name if name is not None else function.__name__
    for kind, value in (("name", called), ("version", version)):
        if not isinstance(value, str) or _NAME.fullmatch(value) is None:
            raise ConfigError(
                f"{kind} {value!r:.80} of a workflow: use 1 to 64 ASCII letters, digits, _ and -"
            )
    what = f"workflow {called!r}"
    parameter = _input(function, what)
    known = functions.names(function, frame)
    takes = _hint(parameter.annotation, known, f"{what}: its input")
    gives = _hint(inspect.signature(function).return_annotation, known, f"{what}: its output")
    return Workflow(
        called,
        version,
        function,
        shape_of(takes, f"{what}: its input", UNTOLD),
        shape_of(gives, f"{what}: its output", UNTOLD),
    )


def _input(function: Any, what: str) -> inspect.Parameter:
    parameters = list(inspect.signature(function).parameters.values())
    needed = [one for one in parameters if one.default is one.empty]
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if (
        len(parameters) < 2
        or len(needed) > 2
        or any(p.kind not in by_place for p in parameters[:2])
    ):
        raise ConfigError(f"{what} must take the run and its input: `async def f(run, input)`")
    return parameters[1]


def _hint(given: Any, known: functions.Names, what: str) -> Any:
    """The type that an annotation stands for; None for none, and for None itself."""
    if given in (inspect.Parameter.empty, None, "None"):
        return None

    def holder() -> None: ...

    holder.__annotations__ = {"it": given}
    try:
        hints = typing.get_type_hints(
            holder, globalns=known.module | known.local, include_extras=True
        )
    except Exception as error:
        raise ConfigError(
            f"{what}: its type {functions.shown_type(given)} cannot be found ({error}): define it"
            " above the workflow, and import it when the program runs"
        ) from error
    return hints["it"]
