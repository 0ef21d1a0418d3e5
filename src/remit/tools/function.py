"""A callable, looked at: its plain function, its name, its parameters and their types."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from remit.tools.context import ToolContext
from remit.tools.typeddict import lifted
from remit.values.errors import ConfigError

Frame = types.FrameType
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def plain(function: Any) -> Any:
    """The function that was written, behind partials, methods, wrappers and callable objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isfunction(function) or inspect.isroutine(function):
            return function
        else:
            function = type(function).__call__


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


def namespace(function: Any, frame: Frame | None) -> dict[str, Any]:
    """The names that the function's annotations may use: its module's and, nearer, those of the
    functions and classes around the place where the tool is made."""
    written = plain(function)
    around = getattr(written, "__globals__", {})
    scopes = []
    while frame is not None:
        # A decorator of the user's may stand between; only frames of the same module count.
        if frame.f_globals is around and frame.f_locals is not around:
            scopes.append(dict(frame.f_locals))
        frame = frame.f_back
    names = dict(around)
    for scope in reversed(scopes):
        names |= scope
    return names


def hints(annotations: Mapping[str, Any], names: dict[str, Any], tool: str) -> dict[str, Any]:
    """The types that annotations stand for. Raises ConfigError, naming the parameter."""
    return {name: _hint(name, given, names, tool) for name, given in annotations.items()}


def _hint(name: str, given: Any, names: dict[str, Any], tool: str) -> Any:
    def holder() -> None: ...

    holder.__annotations__ = {name: given}
    try:
        found = typing.get_type_hints(holder, globalns=names, include_extras=True)[name]
        return lifted(found, names)
    except Exception as error:
        raise ConfigError(
            f"tool {tool!r}: the type of parameter {name!r}, {shown_type(given)}, is not to be "
            f"found ({type(error).__name__}: {error}): import it at run time (not under "
            "TYPE_CHECKING) and define it above the tool"
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


def caller(depth: int = 1) -> Frame | None:
    """The frame `depth` calls above the function that asks."""
    return sys._getframe(depth + 1)


Function = Callable[..., Any]
