"""`typing.TypedDict` before Python 3.12, which Pydantic takes only from typing_extensions."""

from __future__ import annotations

import functools
import operator
import sys
import types
import typing
from typing import Annotated, Any, NotRequired, Required


def lifted(hint: Any, local: dict[str, Any]) -> Any:
    """`hint` with each `typing.TypedDict` in it replaced by its equal from typing_extensions."""
    if sys.version_info >= (3, 12):
        return hint
    return _lifted(hint, local, {})


def _lifted(hint: Any, local: dict[str, Any], seen: dict[Any, Any]) -> Any:
    if typing.is_typeddict(hint):
        return _equal(hint, local, seen) if type(hint).__module__ == "typing" else hint
    origin, old = typing.get_origin(hint), typing.get_args(hint)
    if origin is None or origin is typing.Literal:
        return hint
    if origin is Annotated:
        return Annotated[(_lifted(old[0], local, seen), *old[1:])]
    args = tuple(_lifted(arg, local, seen) for arg in old)
    if args == old:
        return hint
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, args)
    return hint.copy_with(args) if hasattr(hint, "copy_with") else origin[args]


def _equal(old: Any, local: dict[str, Any], seen: dict[Any, Any]) -> Any:
    if old in seen:
        return seen[old]
    import typing_extensions

    hints = typing.get_type_hints(old, localns=local, include_extras=True)
    keys = {name: _qualified(hint, name in old.__required_keys__) for name, hint in hints.items()}
    fields = {name: qualifier[Any] for name, (qualifier, _) in keys.items()}
    make: Any = typing_extensions.TypedDict
    new = make(old.__name__, fields)
    new.__module__, new.__doc__ = old.__module__, old.__doc__
    if config := getattr(old, "__pydantic_config__", None):
        new.__pydantic_config__ = config
    # A type that holds itself finds its equal here.
    seen[old] = new
    for name, (qualifier, inner) in keys.items():
        new.__annotations__[name] = qualifier[_lifted(inner, local, seen)]
    return new


def _qualified(hint: Any, required: bool) -> tuple[Any, Any]:
    """Whether a key must be there, as its qualifier, and its type without one."""
    if typing.get_origin(hint) in (Required, NotRequired):
        return typing.get_origin(hint), typing.get_args(hint)[0]
    return (Required if required else NotRequired), hint
