"""What is no JSON, and what is no JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_INSIDE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then")
_EACH = ("properties", "$defs", "definitions", "patternProperties")
_ALL = ("anyOf", "allOf", "oneOf", "prefixItems")
_LISTS = (*_ALL, "required", "enum")

Place = tuple[str, ...]


def unsendable(body: object) -> str | None:
    """Why `body` is no JSON in UTF-8: NaN, an infinity, half a character; None where it is."""
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def schemas(schema: object, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """`schema` and all schemas inside of it, each with its place."""
    yield place, schema
    if not isinstance(schema, dict):
        return
    for name in _INSIDE:
        if name in schema:
            yield from schemas(schema[name], (*place, name))
    for name in _EACH:
        for key, inner in _items(schema.get(name)):
            yield from schemas(inner, (*place, name, key))
    for name in _ALL:
        found = schema.get(name, ())
        for number, inner in enumerate(found if isinstance(found, list) else ()):
            yield from schemas(inner, (*place, name, str(number)))


def fault(schema: object) -> tuple[Place, str] | None:
    """The first place where `schema` is no JSON Schema, and why."""
    for place, inner in schemas(schema):
        why = _fault(inner)
        if why is not None:
            return place, why
    return None


def _fault(schema: object) -> str | None:
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return f"{schema!r} is not of type 'object', 'boolean'"
    types = schema.get("type", [])
    for name in types if isinstance(types, list) else [types]:
        if not isinstance(name, str) or name not in _TYPES:
            return f"{name!r} is not valid under any of the given schemas"
    return _wrong(schema, _EACH, dict, "object") or _wrong(schema, _LISTS, list, "array")


def _wrong(schema: dict[str, Any], names: tuple[str, ...], kind: type, told: str) -> str | None:
    for name in names:
        if name in schema and not isinstance(schema[name], kind):
            return f"{schema[name]!r} is not of type '{told}'"
    for name in schema.get("required", ()) if kind is list else ():
        if not isinstance(name, str):
            return f"{name!r} is not of type 'string'"
    return None


def _items(found: object) -> Iterator[tuple[str, Any]]:
    if isinstance(found, dict):
        yield from found.items()
