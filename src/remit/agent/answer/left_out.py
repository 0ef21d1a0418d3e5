"""Nulls that stand for what may be left out: strict schemas have no other way to say that."""

from __future__ import annotations

from typing import Any

from remit.tools.arguments import Path, at, steps
from remit.values import codec

_ROUNDS = 8
"""How often what is left out may bring up further nulls."""


def fitting(adapter: Any, text: str) -> tuple[Any, str]:
    """The value of JSON `text`, and the JSON that it is of: a null where none fits and where
    something may be left out counts as left out. Raises ValueError, which tells what does not fit
    as it stands."""
    from pydantic import ValidationError

    try:
        return adapter.validate_json(text), text
    except ValidationError as error:
        first = error
    if first.errors(include_url=False, include_context=False)[0]["type"] == "json_invalid":
        raise first
    plain, found = codec.decode(text.encode(), object), first
    for _ in range(_ROUNDS):
        nulls = {path for each in _places(found) if _is_null(plain, path := steps(each, plain))}
        if not nulls:
            break
        for path in nulls:
            del at(plain, path[:-1])[path[-1]]
        fewer = codec.encode(plain).decode()
        try:
            return adapter.validate_json(fewer), fewer
        except ValidationError as error:
            found = error
    raise first


def _places(error: Any) -> list[Path]:
    return [each["loc"] for each in error.errors(include_url=False, include_context=False)]


def _is_null(tree: Any, path: Path) -> bool:
    """Whether a null stands at `path` under a name."""
    if not path or not isinstance(path[-1], str):
        return False
    around = at(tree, path[:-1])
    return isinstance(around, dict) and around.get(path[-1], around) is None
