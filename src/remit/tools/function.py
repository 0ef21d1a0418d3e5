"""A callable, looked at: its plain function, its name, its parameters and their types."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from remit.tools.context import ToolContext
from remit.tools.typeddict import lifted
from remit.values.errors import ConfigError

Frame = types.FrameType

_LAYERS = 100
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def plain(function: Any) -> Any:
    """The function that was written, behind partials, methods, wrappers and callable objects."""
    for _ in range(_LAYERS):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isroutine(function):
            break
        else:
            function = type(function).__call__
    return function


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def yields(function: Any) -> bool:
    """Whether it is a generator, which has no one result."""
    written = plain(function)
    return inspect.isgeneratorfunction(written) or inspect.isasyncgenfunction(written)


def takes(function: Any, count: int) -> bool:
    """Whether it can be called with `count` positional arguments; True where nobody can tell."""
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:
        return True
    except TypeError:
        return False
    return True


def takes_context(check: Any) -> bool:
    """Whether a check of arguments wants the context as its second parameter."""
    try:
        parameters = list(inspect.signature(check).parameters.values())
    except ValueError:
        return False
    if len(parameters) < 2 or parameters[1].kind not in _POSITIONAL:
        return False
    second = parameters[1]
    return second.default is second.empty or second.name in ("ctx", "context")


def parameters(function: Any, tool: str) -> Mapping[str, inspect.Parameter]:
    """The parameters that a call fills by name. Raises ConfigError for those it cannot fill."""
    try:
        found = dict(inspect.signature(function).parameters)
    except ValueError:
        raise ConfigError(
            f"tool {tool!r}: Python cannot tell its parameters; wrap it in a function of yours"
        ) from None
    if isinstance(function, functools.partial):
        # What a partial holds already is the app's own and not the model's to change.
        found = {name: p for name, p in found.items() if name not in function.keywords}
    for parameter in found.values():
        _refuse_unnamed(parameter, tool)
    return found


def written(function: Any) -> set[str]:
    """The names of all parameters that its docstring may describe: those that are filled in by a
    partial, a wrapper or a constructor among them."""
    found: set[str] = set()
    made = () if inspect.isroutine(function) else (type(function),)
    for each in (function, plain(function), *made):
        with contextlib.suppress(ValueError, TypeError):
            found |= inspect.signature(each).parameters.keys()
    return found


def _refuse_unnamed(parameter: inspect.Parameter, tool: str) -> None:
    name = parameter.name
    mends: dict[Any, str] = {
        parameter.POSITIONAL_ONLY: f"a model names its arguments: drop the `/` after {name!r}",
        parameter.VAR_POSITIONAL: f"instead of `*{name}` take a list: `{name}: list[str]`",
        parameter.VAR_KEYWORD: f"instead of `**{name}` name each parameter, or take a dict",
    }
    if parameter.kind in mends:
        raise ConfigError(f"tool {tool!r}: {mends[parameter.kind]}")
    if parameter.annotation is not parameter.empty:
        return
    if name in ("self", "cls"):
        raise ConfigError(
            f"tool {tool!r} is a method without its object: make the tool from a bound one, "
            "`tool(desk.find)`, or from a static method"
        )
    kind = "ToolContext" if name in ("ctx", "context") else "str"
    raise ConfigError(
        f"tool {tool!r}: parameter {name!r} has no type, so its arguments could not be checked: "
        f"annotate it, like `{name}: {kind}`"
    )


@dataclass(frozen=True, slots=True)
class Names:
    """What a function's annotations may name: its module's names, and those around it."""

    module: dict[str, Any]
    local: dict[str, Any]


def names(function: Any, frame: Frame | None) -> Names:
    """The names that `function` may use where `frame` makes a tool of it."""
    written = plain(function)
    module: dict[str, Any] = getattr(written, "__globals__", {})
    scopes: list[Mapping[str, Any]] = []
    while frame is not None:
        # A decorator of the user's may stand between; frames of other modules do not count.
        if frame.f_globals is module and frame.f_code.co_name != "<module>":
            scopes.append(dict(frame.f_locals))
        frame = frame.f_back
    local: dict[str, Any] = {}
    for scope in reversed(scopes):
        local |= scope
    return Names(module, local | _closure(written))


def _closure(function: Any) -> dict[str, Any]:
    cells = getattr(function, "__closure__", None) or ()
    found = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True) if cells else ():
        with contextlib.suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def hints(annotations: Mapping[str, Any], known: Names, tool: str) -> dict[str, Any]:
    """The types that annotations stand for. Raises ConfigError, naming the parameter."""
    return {name: _hint(name, given, known, tool) for name, given in annotations.items()}


def _hint(name: str, given: Any, known: Names, tool: str) -> Any:
    def holder() -> None: ...

    holder.__annotations__ = {name: given}
    try:
        found = typing.get_type_hints(
            holder, globalns=known.module | known.local, include_extras=True
        )
        return lifted(found[name], known.local)
    except Exception as error:
        raise ConfigError(
            f"tool {tool!r}: the type of parameter {name!r}, {shown_type(given)}, cannot be found "
            f"({type(error).__name__}: {error}): import it when the "
            "program runs, not for the type checker alone, and define it above the tool"
        ) from error


def is_context(hint: Any) -> bool:
    """Whether a parameter of this type is the context: as it is, of some deps, or optional."""
    origin = typing.get_origin(hint)
    if origin is Annotated or origin in (typing.Union, types.UnionType):
        inner = typing.get_args(hint)
        return any(is_context(arg) for arg in (inner[:1] if origin is Annotated else inner))
    return hint is ToolContext or origin is ToolContext


def shown_type(hint: Any) -> str:
    """A type as its author wrote it."""
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)


def caller() -> Frame:
    """The frame of whoever called the function that asks."""
    return sys._getframe(2)
