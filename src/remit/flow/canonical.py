"""One form for values whose parts have no order of their own, whichever process writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

_DEEPEST = 100


def text(plain: Any) -> str:
    """Plain data as text, with the keys of its objects in order."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def settled(plain: Any, value: Any, depth: int = 0) -> Any:
    """`plain`, which was made of `value`, with what was made of sets in one order: Python's own
    differs from process to process."""
    if depth > _DEEPEST or not isinstance(plain, list | dict):
        return plain
    value = _root(value)
    if isinstance(plain, dict):
        return {
            key: settled(inner, part, depth + 1)
            for (key, inner), part in zip(plain.items(), _parts(plain, value), strict=True)
        }
    if not isinstance(value, list | tuple | AbstractSet) or len(value) != len(plain):
        return plain
    found = [settled(inner, part, depth + 1) for inner, part in zip(plain, value, strict=True)]
    return sorted(found, key=text) if isinstance(value, AbstractSet) else found


def is_used_up(value: Any, seen: set[int] | None = None) -> bool:
    """Whether reading `value` would take it from the one whom it was made for."""
    value, seen = _root(value), set() if seen is None else seen
    if isinstance(value, Iterator):
        return True
    if isinstance(value, str | bytes) or id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif isinstance(value, list | tuple | AbstractSet):
        parts = list(value)
    else:
        parts = list(_fields(value).values())
    return any(is_used_up(part, seen) for part in parts)


def _parts(plain: dict[str, Any], value: Any) -> list[Any]:
    """What the members of `plain` were made of, as far as that can be told."""
    if isinstance(value, Mapping):
        return list(value.values()) if len(value) == len(plain) else [None] * len(plain)
    named = _fields(value)
    return [named.get(key, getattr(value, key, None)) for key in plain]


def _root(value: Any) -> Any:
    is_root = getattr(type(value), "__pydantic_root_model__", False)
    return value.root if is_root else value


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a model or a dataclass, under the names that they may have in plain data."""
    found: dict[str, Any] = {}
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: getattr(value, field.name, None) for field in fields(value)}
    known = getattr(type(value), "__pydantic_fields__", {})
    for name, field in known.items():
        for key in (name, field.alias, field.serialization_alias):
            if key is not None:
                found[key] = getattr(value, name, None)
    return found
