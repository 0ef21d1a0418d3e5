"""Schemas as strict mode takes them: every object closed, every key required."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Plain = dict[str, Any]

_LEVELS = 10
_PROPERTIES = 5_000
_CHOICES = 1_000
"""What OpenAI takes at most, as its guide to structured outputs says."""

_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_KEPT = frozenset(
    (
        *("title", "description", "minimum", "maximum", "exclusiveMinimum"),
        *("exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
    )
)
_READ = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum"),
        *("const", "$ref", "$defs", "format", "pattern", "default"),
    )
)


def closed(schema: Mapping[str, Any], *, narrow: bool) -> Plain | None:
    """`schema` for strict mode; None where that cannot hold it.

    What fits the result fits `schema`. Where it may be made `narrow`, objects that say nothing of
    other keys take none, and keys with defaults are required, so that it holds less than `schema`;
    else they must be so already.
    """
    work = _Work(narrow)
    try:
        made = work.node(schema, 1)
        if made.get("type") != "object":
            return None
        definitions = schema.get("$defs", {})
        if definitions:
            made["$defs"] = {name: work.node(each, 1) for name, each in definitions.items()}
    except (_Open, AttributeError, TypeError):
        return None
    return made


class _Open(Exception):
    """Strict mode cannot hold this."""


class _Work:
    def __init__(self, narrow: bool) -> None:
        self._narrow = narrow
        self._properties = 0
        self._choices = 0

    def node(self, schema: Mapping[str, Any], level: int) -> Plain:
        """One schema inside of the whole."""
        if schema.keys() - _KEPT - _READ or level > _LEVELS:
            raise _Open
        made = {key: value for key, value in schema.items() if key in _KEPT}
        if "$ref" in schema:
            reference = {"$ref": schema["$ref"]}
            # Nothing may stand beside a reference.
            return made | {"anyOf": [reference]} if made else reference
        if "anyOf" in schema:
            return made | {"anyOf": [self.node(each, level) for each in schema["anyOf"]]}
        kind = schema.get("type")
        if kind is None:
            raise _Open
        made["type"] = kind
        made |= self._values(schema)
        kinds = kind if isinstance(kind, list) else [kind]
        if "object" in kinds:
            made |= self._object(schema, level)
        if "array" in kinds:
            made["items"] = self.node(schema.get("items", {}), level)
        return made

    def _values(self, schema: Mapping[str, Any]) -> Plain:
        """What of a schema tells which texts and numbers there may be."""
        made = {key: schema[key] for key in ("format", "pattern") if key in schema}
        if "enum" in schema or "const" in schema:
            made["enum"] = schema.get("enum", [schema.get("const")])
            self._choices += len(made["enum"])
        # Patterns that look around are refused, like those of decimals.
        looks_around = "(?" in made.get("pattern", "")
        if looks_around or made.get("format", "date") not in _FORMATS or self._choices > _CHOICES:
            raise _Open
        return made

    def _object(self, schema: Mapping[str, Any], level: int) -> Plain:
        properties = schema.get("properties")
        others = schema.get("additionalProperties", not (self._narrow and properties))
        required = schema.get("required", ())
        self._properties += len(properties or ())
        if others is not False or properties is None or self._properties > _PROPERTIES:
            raise _Open
        if not self._narrow and any(name not in required for name in properties):
            raise _Open
        return {
            "properties": {name: self.node(each, level + 1) for name, each in properties.items()},
            "required": list(properties),
            "additionalProperties": False,
        }
