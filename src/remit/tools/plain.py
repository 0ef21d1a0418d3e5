"""Any value of Python's in the one JSON form that results have."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

Items = Iterable[tuple[Any, Any]]

DEPTH = 100
VALUES = 1_000_000


class ResultError(Exception):
    """A value has no JSON form; the text says why, and nothing of the value itself."""


def to_plain(value: object) -> Any:
    """`value` as None, bool, int, float, str, list and dict alone; `render` shows the forms.

    What a container holds is read past its class's own methods. Raises ResultError.
    """
    try:
        return _Walk().plain(value, 0)
    except ResultError:
        raise
    except RecursionError:
        raise ResultError("it is nested too deeply") from None
    except Exception as error:
        raise ResultError(f"reading it raised {type(error).__name__}") from error


def compact(plain: object) -> str:
    """JSON text of plain values. Raises ResultError for a number that is too long to write."""
    try:
        return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise ResultError("it holds a number that is too long to write") from None


class _Walk:
    """One walk over one value, with a bound on how much it visits."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = VALUES

    def plain(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ResultError(f"it holds more than {VALUES} values")
        if depth > DEPTH:
            raise ResultError(f"it holds itself, or is more than {DEPTH} deep")
        kind = type(value)
        if value is None or kind is str or kind is bool or kind is int:
            return value
        if kind is dict:
            return self.named(value.items(), depth)
        if kind is list or kind is tuple:
            return [self.plain(item, depth + 1) for item in value]
        if isinstance(value, Enum):
            return self.plain(value.value, depth + 1)
        for scalar, form in _SCALARS:
            if isinstance(value, scalar):
                return form(value)
        return self.container(value, depth)

    def named(self, items: Items, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in items:
            name = key if type(key) is str else self.key(key, depth + 1)
            if name in made:
                raise ResultError("two keys of an object become the same text")
            made[name] = self.plain(value, depth + 1)
        return made

    def key(self, key: object, depth: int) -> str:
        plain = self.plain(key, depth)
        return plain if isinstance(plain, str) else compact(plain)

    def container(self, value: Any, depth: int) -> Any:
        if isinstance(value, set | frozenset):
            return sorted((self.plain(item, depth + 1) for item in _members(value)), key=compact)
        if (dump := _dumped(value)) is not None:
            return self.plain(dump(), depth + 1)
        if (items := _items(value)) is not None:
            return self.named(items, depth)
        if isinstance(value, list | tuple):
            return [self.plain(item, depth + 1) for item in _members(value)]
        return self.plain(_described(value), depth + 1)


def _members(value: Any) -> Iterable[Any]:
    kinds: tuple[Any, ...] = (list, tuple, set, frozenset)
    for kind in kinds:
        if isinstance(value, kind):
            members: Iterable[Any] = kind.__iter__(value)
            return members
    return ()


def _items(value: Any) -> Items | None:
    """The names and values of what becomes an object, None for what does not."""
    kind = type(value)
    if isinstance(value, dict):
        return dict.items(value)
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if dataclasses.is_dataclass(kind):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(kind)]
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return zip(kind._fields, tuple.__iter__(value), strict=True)
    if isinstance(value, Mapping):
        return ((key, value[key]) for key in value)
    return None


def _struct(value: msgspec.Struct) -> Items:
    config = value.__struct_config__
    if config.tag is not None and config.tag_field is not None:
        yield config.tag_field, config.tag
    for name, shown in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        yield shown, getattr(value, name)


def _dumped(value: Any) -> Callable[[], Any] | None:
    """How a Pydantic model or dataclass gives its own fields, None for any other value."""
    kind: Any = type(value)
    serializer = getattr(kind, "__pydantic_serializer__", None)
    if serializer is None:
        return None
    # As Python, so that bytes and sets inside have the form that they have elsewhere; but where
    # it may have serializers for JSON alone, such as those that hide a secret, they are heard.
    mode = "json" if _speaks_json(kind) else "python"
    return lambda: serializer.to_python(value, mode=mode, warnings=False)


@lru_cache(maxsize=1024)
def _speaks_json(kind: Any) -> bool:
    schema = getattr(kind, "__pydantic_core_schema__", None)
    return schema is None or _mentions(schema, set())


def _mentions(schema: Any, seen: set[int]) -> bool:
    if id(schema) in seen:
        return False
    seen.add(id(schema))
    if isinstance(schema, list | tuple):
        return any(_mentions(inner, seen) for inner in schema)
    if not isinstance(schema, dict):
        return False
    # With `info_arg` a serializer is told the mode, so it may look at it.
    if schema.get("when_used") in ("json", "json-unless-none") or schema.get("info_arg"):
        return True
    return any(_mentions(inner, seen) for inner in schema.values())


def _described(value: Any) -> Any:
    """What Pydantic's JSON mode makes of a type that it knows and this module does not."""
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(type(value)).dump_python(value, mode="json", warnings=False)
    except Exception:
        raise ResultError(f"a {type(value).__name__[:80]} has no JSON form") from None


def _number(value: float) -> float | str:
    exact = float.__float__(value)
    return exact if math.isfinite(exact) else _INFINITE[float.__repr__(exact)]


_INFINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _moment(value: datetime) -> str:
    text = datetime.isoformat(value)
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def _duration(value: timedelta) -> Any:
    return msgspec.to_builtins(timedelta(value.days, value.seconds, value.microseconds))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


_SCALARS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, _number),
    (Decimal, Decimal.__str__),
    (datetime, _moment),
    (date, date.isoformat),
    (time, time.isoformat),
    (timedelta, _duration),
    (UUID, UUID.__str__),
    ((bytes, bytearray, memoryview), _base64),
    (PurePath, PurePath.__str__),
)
