"""What the library's classes and commands offer, as the rows that a reference page must have."""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

import msgspec
import typer

from tests.docs.tables import Rows

REQUIRED = "required"


def named(names: Iterable[str]) -> Rows:
    """Rows that only have to be there."""
    return {name: {} for name in names}


def choices(literal: Any) -> Rows:
    """The values of a Literal."""
    return named(get_args(literal))


def options(cls: Any) -> Rows:
    """The arguments of a dataclass, with their defaults."""
    return {field.name: {"default": _default(field)} for field in _given(cls)}


def parameters(function: Callable[..., Any]) -> Rows:
    """The parameters of a function, with their defaults."""
    found = list(inspect.signature(function).parameters.values())
    return {
        one.name: {"default": REQUIRED if one.default is one.empty else shown(one.default)}
        for one in found
        if one.name != "self"
    }


def fields(cls: Any) -> Rows:
    """What a value holds: its fields and its properties."""
    return named([*field_names(cls), *properties(cls)])


def field_names(cls: Any) -> list[str]:
    """The fields of a value, in order."""
    if issubclass(cls, msgspec.Struct):
        return list(cls.__struct_fields__)
    return [field.name for field in _given(cls)]


def properties(cls: Any) -> Rows:
    """The properties of a class."""
    return named(name for name, one in _public(cls) if isinstance(one, property))


def methods(cls: Any) -> Rows:
    """The methods of a class, as they are called."""
    found = ((name, one) for name, one in _public(cls) if not isinstance(one, property))
    return named(
        signature(getattr(cls, name), bound=isinstance(one, classmethod), name=name)
        for name, one in found
        if inspect.isroutine(one)
    )


def signature(function: Any, *, bound: bool = True, name: str = "") -> str:
    """`name(a, *, b=1)`, without annotations; a function of a class that is not `bound` is shown
    without its first parameter."""
    found = inspect.signature(function)
    kept = list(found.parameters.values())[0 if bound else 1 :]
    plain = found.replace(
        parameters=[one.replace(annotation=one.empty) for one in kept],
        return_annotation=found.empty,
    )
    return f"{name or function.__name__}{_tidy(str(plain))}"


def listed(names: Iterable[str]) -> str:
    """Names as a cell lists them."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def commands(command: Any, path: str = "remit") -> Iterator[tuple[str, Rows]]:
    """The options and arguments of a command and of those below it, by their full names."""
    asked = [one for one in command.params if one.name != "help"]
    if asked or not hasattr(command, "commands"):
        yield path, {_parameter(one): {"default": _unless_given(one)} for one in asked}
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


def built(app: typer.Typer) -> Any:
    """The command that a typer app is."""
    return typer.main.get_command(app)


def shown(value: object) -> str:
    """A default as a cell holds it."""
    return f"`{_tidy(repr(value))}`"


def _given(cls: Any) -> list[Any]:
    return [field for field in dataclasses.fields(cls) if field.init]


def _default(field: Any) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"`{field.default_factory.__name__}()`"
    return REQUIRED if field.default is dataclasses.MISSING else shown(field.default)


def _public(cls: Any) -> Iterator[tuple[str, Any]]:
    return ((name, one) for name, one in vars(cls).items() if not name.startswith("_"))


def _tidy(text: str) -> str:
    return text.replace("datetime.timedelta", "timedelta").replace("'", '"')


def _parameter(param: Any) -> str:
    is_option = param.param_type_name == "option"
    return str(max(param.opts, key=len) if is_option else param.metavar)


def _unless_given(param: Any) -> str:
    if param.required:
        text = REQUIRED
    elif param.default in (None, ""):
        text = "none"
    else:
        text = "off" if param.default is False else f"`{param.default}`"
    return f"{text}, or `{param.envvar}`" if param.envvar else text
