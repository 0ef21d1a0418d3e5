"""A schema in the form that Anthropic's structured outputs take.

Anthropic's guide to structured outputs lists what they know of: no recursion, no open objects, no
bounds. What they do not know stands in the descriptions, and the answer is checked against the
whole type where it is read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from typing import Any

Plain = dict[str, Any]

OPTIONAL = 24
UNIONS = 16
"""How many keys that may be left out, and how many unions, a schema may have at most."""

_DEFS = "#/$defs/"
_FORMATS = frozenset(
    {
        *("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6"),
        "uuid",
    }
)
_SCALARS = ("string", "integer", "number", "boolean", "null")
_KEPT = frozenset({"type", "description", "enum", "const", "format", "minItems"})
_QUIET = frozenset(
    {
        *("title", "default", "examples", "discriminator", "$defs", "properties", "required"),
        *("items", "additionalProperties", "anyOf", "oneOf"),
    }
)


class _Unfit(Exception):
    """The schema has no form that is taken."""


def fitted(document: Plain) -> Plain | None:
    """The form of `document` that is taken; None where it has none, or is not of an object."""
    definitions = document.get("$defs") or {}
    walk = _Walk(frozenset(definitions))
    try:
        whole = walk.take(document, "")
        known = {name: walk.take(each, name) for name, each in definitions.items()}
        TopologicalSorter(walk.leads).prepare()
    except (_Unfit, CycleError):
        return None
    if whole.get("type") != "object" or walk.optional > OPTIONAL or walk.unions > UNIONS:
        return None
    return whole | {"$defs": known} if known else whole


class _Walk:
    """Takes a schema apart, and counts on the way."""

    def __init__(self, known: frozenset[str]) -> None:
        self.optional = 0
        self.unions = 0
        self.leads: defaultdict[str, set[str]] = defaultdict(set)
        """To which definitions each one leads."""
        self._known = known

    def take(self, schema: object, of: str) -> Plain:
        """A part of the schema, in the definition `of`."""
        if not isinstance(schema, dict):
            raise _Unfit
        if "$ref" in schema:
            return self._reference(schema["$ref"], of)
        found = {key: value for key, value in schema.items() if key in _KEPT}
        self._fill(schema, found, of)
        return _noted(schema, found)

    def _fill(self, schema: Plain, found: Plain, of: str) -> None:
        kinds = schema.get("anyOf", schema.get("oneOf"))
        kind = schema.get("type")
        if isinstance(kinds, list):
            self.unions += 1
            found["anyOf"] = [self.take(each, of) for each in kinds]
        elif "enum" in schema or "const" in schema:
            _check_scalars(schema)
        elif kind == "object":
            found |= self._object(schema, of)
        elif kind == "array":
            found["items"] = self.take(schema.get("items"), of)
        elif kind not in _SCALARS:
            raise _Unfit

    def _object(self, schema: Plain, of: str) -> Plain:
        properties = schema.get("properties")
        closed = schema.get("additionalProperties") in (None, False)
        if not closed or not isinstance(properties, dict):
            raise _Unfit
        required = list(schema.get("required") or ())
        self.optional += len(properties) - len(required)
        return {
            "properties": {name: self.take(each, of) for name, each in properties.items()},
            "required": required,
            "additionalProperties": False,
        }

    def _reference(self, reference: object, of: str) -> Plain:
        name = str(reference).removeprefix(_DEFS)
        if name not in self._known:
            raise _Unfit
        self.leads[of].add(name)
        return {"$ref": f"{_DEFS}{name}"}


def _check_scalars(schema: Plain) -> None:
    values = [*(schema.get("enum") or ()), schema.get("const")]
    if any(isinstance(value, dict | list) for value in values):
        raise _Unfit


def _noted(schema: Plain, found: Plain) -> Plain:
    """`found`, with what of `schema` has no place in it told in its description."""
    notes = {key: value for key, value in schema.items() if key not in _KEPT | _QUIET}
    if found.get("format") not in (None, *_FORMATS):
        notes["format"] = found.pop("format")
    if found.get("minItems", 0) > 1:
        notes["minItems"] = found.pop("minItems")
    if notes:
        words = f"{found.get('description', '')} {json.dumps(notes, default=str)}".strip()
        found["description"] = words
    return found
