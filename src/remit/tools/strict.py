"""A tool's schema in the form that providers' strict modes take, or why it has none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from remit.tools.arguments import json_type

Plain = dict[str, Any]

PROPERTIES = 5_000
LEVELS = 10
CHOICES = 1_000
"""What OpenAI takes at most, as its guide to structured outputs says."""

_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_TOLD = (
    *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties"),
)
_REFUSED = (
    *("not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies"),
    *("patternProperties", "propertyNames", "prefixItems", "additionalItems", "contains"),
    *("unevaluatedProperties", "unevaluatedItems", "$anchor", "$dynamicAnchor", "$dynamicRef"),
)
_NULL = {"type": "null"}


@dataclass(frozen=True, slots=True)
class Strict:
    """A schema that every strict mode takes; where it is `recursive`, every one that knows
    recursion."""

    document: Plain
    recursive: bool


@dataclass(frozen=True, slots=True)
class Loose:
    """A schema has no strict form; `why` names the place."""

    why: str


def strict(document: Mapping[str, Any]) -> Strict | Loose:
    """The strict form of the schema of a tool's arguments.

    Every object names all its keys as required and takes no other; what may be left out may be
    null instead, which the tool's check takes for left out. What strict modes do not know of,
    such as bounds and defaults, stands in the descriptions; the tool's check knows it all.
    """
    walk = _Walk(document)
    try:
        made = walk.whole()
    except _NoForm as error:
        return Loose(str(error))
    return Strict(made, _in_circles(walk.leads))


class _NoForm(Exception):
    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where or 'the whole'} {why}")


@dataclass(slots=True)
class _Walk:
    """One walk over one schema. `leads` tells which definitions name which; "#" is the whole."""

    document: Mapping[str, Any]
    leads: dict[str, set[str]] = field(default_factory=dict)
    properties: int = 0
    choices: int = 0
    _inside: str = "#"

    def whole(self) -> Plain:
        for key in ("anyOf", "oneOf", "enum", "const", "$ref", "$id"):
            if key in self.document:
                raise _NoForm("", f"uses {key}")
        made = self.node(self.document, "", 1)
        if made.get("type") != "object":
            raise _NoForm("", "is no object")
        defined: Plain = {}
        while missing := [name for name in self._named() if name not in defined]:
            for name in missing:
                self._inside = name
                defined[name] = self.node(self._definition(name), name.rpartition("/")[2], 1)
        if defined:
            made["$defs"] = {name.rpartition("/")[2]: each for name, each in defined.items()}
        return made

    def _named(self) -> list[str]:
        return sorted({name for led in self.leads.values() for name in led} - {"#"})

    def _definition(self, reference: str) -> Any:
        place, _, name = reference.rpartition("/")
        found = self.document.get(place.removeprefix("#/"), {})
        if place not in ("#/$defs", "#/definitions") or name not in found:
            raise _NoForm(f"the reference {reference}", "leads to no definition")
        return found[name]

    def node(self, schema: Any, where: str, level: int) -> Plain:
        if not isinstance(schema, Mapping):
            raise _NoForm(where, "may hold anything" if schema else "may hold nothing")
        for key in _REFUSED:
            if key in schema and schema[key] is not False:
                raise _NoForm(where, f"uses {key}")
        if "$id" in schema and level > 1:
            raise _NoForm(where, "uses $id")
        return _described(self._form(schema, where, level), _told(schema))

    def _form(self, schema: Mapping[str, Any], where: str, level: int) -> Plain:
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self._alternatives(schema, key, where, level)
        if "enum" in schema or "const" in schema:
            return self._one_of(schema.get("enum", [schema.get("const")]), where)
        kind = schema.get("type", _implied(schema))
        if isinstance(kind, list):
            each = [self.node(_bare(schema, name), where, level) for name in kind]
            return _union(each)
        match kind:
            case "object":
                return self._object(schema, where, level)
            case "array":
                return self._array(schema, where, level)
            case "string" if schema.get("format") in _FORMATS:
                return {"type": kind, "format": schema["format"]}
            case str():
                return {"type": kind}
            case _:
                raise _NoForm(where, "may hold anything")

    def _reference(self, reference: str) -> Plain:
        self.leads.setdefault(self._inside, set()).add(reference)
        if reference == "#":
            return {"$ref": "#"}
        self._definition(reference)
        return {"$ref": f"#/$defs/{reference.rpartition('/')[2]}"}

    def _alternatives(self, schema: Mapping[str, Any], key: str, where: str, level: int) -> Plain:
        beside = [name for name in ("properties", "items", "enum", "const") if name in schema]
        if beside or sum(name in schema for name in ("anyOf", "oneOf", "allOf")) > 1:
            raise _NoForm(where, f"uses {key} beside {beside[0] if beside else 'its like'}")
        if key == "allOf" and len(schema[key]) > 1:
            raise _NoForm(where, "uses allOf")
        return _union([self.node(each, where, level) for each in schema[key]])

    def _one_of(self, values: Sequence[Any], where: str) -> Plain:
        self.choices += len(values)
        if self.choices > CHOICES:
            raise _NoForm(where, f"is more than the {CHOICES} choices that a schema may have")
        found = []
        for kind, group in groupby(sorted(values, key=json_type), key=json_type):
            if kind in ("array", "object"):
                raise _NoForm(where, f"is one of several {kind}s")
            found.append(_NULL if kind == "null" else {"type": kind, "enum": list(group)})
        return _union(found)

    def _array(self, schema: Mapping[str, Any], where: str, level: int) -> Plain:
        if "items" not in schema:
            raise _NoForm(f"{where}[]", "may hold anything")
        return {"type": "array", "items": self.node(schema["items"], f"{where}[]", level)}

    def _object(self, schema: Mapping[str, Any], where: str, level: int) -> Plain:
        others = schema.get("additionalProperties", "properties" not in schema)
        if others is not False:
            raise _NoForm(where, "takes keys of any name")
        if level > LEVELS:
            raise _NoForm(where, f"is more than {LEVELS} objects deep")
        properties, required = schema.get("properties", {}), schema.get("required", ())
        for name in required:
            if name not in properties:
                raise _NoForm(f"{where}.{name}".strip("."), "is required and not described")
        self.properties += len(properties)
        if self.properties > PROPERTIES:
            raise _NoForm(where, f"is more than the {PROPERTIES} keys that a schema may have")
        made = {}
        for name, each in properties.items():
            form = self.node(each, f"{where}.{name}".strip("."), level + 1)
            made[name] = form if name in required else _optional(form, each)
        return {
            "type": "object",
            "properties": made,
            "required": list(made),
            "additionalProperties": False,
        }


def _implied(schema: Mapping[str, Any]) -> str | None:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else None


def _bare(schema: Mapping[str, Any], kind: str) -> Plain:
    """`schema` for one of its types; what else it says is told around them all."""
    return {
        key: value
        for key, value in schema.items()
        if key not in _TOLD and key not in ("description", "default")
    } | {"type": kind}


def _union(forms: Sequence[Plain]) -> Plain:
    """One form for all of `forms`; what is said of one with further ones inside goes to each."""
    found: list[Plain] = []
    for form in forms:
        inner = form.get("anyOf", [form])
        for each in inner:
            said = form.get("description") if each is not form else None
            told = _described(dict(each), said) if each != _NULL else dict(each)
            if told not in found:
                found.append(told)
    return found[0] if len(found) == 1 else {"anyOf": found}


def _optional(form: Plain, schema: Any) -> Plain:
    if form == _NULL or _NULL in form.get("anyOf", ()):
        return form
    default = schema.get("default") if isinstance(schema, Mapping) else None
    told = "null: left out" if default is None else f"null: the default, {_shown(default)}"
    said = form.pop("description", None)
    made = {"anyOf": [*form.get("anyOf", [form]), dict(_NULL)]}
    return _described(made, f"{said} ({told})" if said else told)


def _told(schema: Mapping[str, Any]) -> str | None:
    bounds = [f"{key} {_shown(schema[key])}" for key in _TOLD if key in schema]
    if "format" in schema and schema["format"] not in _FORMATS:
        bounds.append(f"format {schema['format']}")
    said = schema.get("description")
    if not bounds:
        return said
    return f"{said} ({', '.join(bounds)})" if said else ", ".join(bounds)


def _described(form: Plain, said: str | None) -> Plain:
    if not said:
        return form
    if "$ref" in form:
        # Nothing may stand beside a reference.
        form = {"anyOf": [form]}
    before = form.get("description")
    return form | {"description": f"{said} {before}" if before else said}


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _in_circles(leads: Mapping[str, set[str]]) -> bool:
    return any(name in _reached(leads, name) for name in leads)


def _reached(leads: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    ahead = list(leads.get(start, ()))
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead.extend(leads.get(name, ()))
    return reached
