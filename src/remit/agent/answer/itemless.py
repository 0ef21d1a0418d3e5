"""Lists in a schema that do not tell what they hold, which providers refuse."""

from __future__ import annotations

_VALUES = frozenset({"const", "default", "enum", "examples"})
_NAMED = frozenset({"properties", "$defs"})


def itemless(schema: object, place: str = "the whole") -> str | None:
    """The place of the first list without `items` in a JSON `schema`, None where there is none."""
    inner: list[tuple[object, str]] = []
    if isinstance(schema, list):
        inner = [(each, place) for each in schema]
    elif isinstance(schema, dict):
        if schema.get("type") == "array" and "items" not in schema:
            return place
        for key, value in schema.items():
            if key in _NAMED and isinstance(value, dict):
                inner += [(each, name) for name, each in value.items()]
            elif key not in _VALUES:
                inner.append((value, place))
    return next((found for each in inner if (found := itemless(*each)) is not None), None)
