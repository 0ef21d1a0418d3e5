"""A schema has a form that every strict mode takes, or it is said why it has none."""

from __future__ import annotations

import dataclasses
import enum
import re
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from remit.tools.strict import Loose, Strict, strict
from remit.tools.tool import Tool, tool

WORDS = {
    "object": {"type", "properties", "required", "additionalProperties", "description", "$defs"},
    "array": {"type", "items", "description"},
    "string": {"type", "enum", "format", "description"},
    "null": {"type"},
}
PLAIN = {"type", "enum", "description"}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    """Where it is."""

    x: int
    y: float = 0.5


class Line(TypedDict, total=False):
    sku: str
    count: int


class Node(BaseModel):
    value: str
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    friend: Cat | Dog | None = None


@tool
def find(q: str, limit: int | None = None, mode: Literal["a", "b"] = "a") -> None:
    """Finds.

    Args:
        mode: How.
    """


@tool
def everything(  # noqa: PLR0913  # every kind of type once
    p: Annotated[Point, Field(description="The place.")],
    line: Line,
    pet: Annotated[Cat | Dog, Field(discriminator="kind")],
    when: datetime,
    id: UUID,
    name: Annotated[str, Field(min_length=1, max_length=9, description="Its name.")],
    level: Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern="^x")],
    colour: Colour = Colour.RED,
    tags: set[str] = set(),  # noqa: B006
    at: Point | None = None,
    flag: Literal[True, 1, None] = None,
) -> None:
    """Takes everything."""


@tool
def plant(tree: Node, spare: Node | None = None) -> None:
    """Plants."""


@tool
def nothing() -> None:
    """Takes nothing."""


def parts(form: Any) -> Iterator[Any]:
    """A schema and all schemas in it."""
    yield form
    inner = [*form.get("anyOf", ()), *form.get("properties", {}).values()]
    if "items" in form:
        inner.append(form["items"])
    for each in [*inner, *form.get("$defs", {}).values()]:
        yield from parts(each)


def fault(form: Any) -> str | None:
    """What no strict mode takes in a schema, without those in it."""
    kind = form.get("type")
    if "$ref" in form:
        return None if set(form) == {"$ref"} else f"words beside $ref: {form}"
    if "anyOf" in form:
        fits = set(form) <= {"anyOf", "description"} and len(form["anyOf"]) > 0
        return None if fits else f"words beside anyOf: {form}"
    if not isinstance(kind, str) or not set(form) <= WORDS.get(kind, PLAIN):
        return f"words that it does not know: {form}"
    if kind == "object":
        closed = form.get("additionalProperties") is False
        named = form.get("required") == list(form["properties"])
        return None if closed and named else f"not closed: {form}"
    return None if kind != "array" or "items" in form else f"of anything: {form}"


def faults(form: Any) -> list[str]:
    return [found for part in parts(form) if (found := fault(part)) is not None]


def strict_of(made: Tool) -> Strict:
    found = strict(made.schema)
    assert isinstance(found, Strict), found
    Draft202012Validator.check_schema(found.document)
    return found


@pytest.mark.parametrize("made", [find, everything, plant, nothing], ids=lambda made: made.name)
def test_the_form_keeps_the_rules_of_strict_modes(made: Tool) -> None:
    found = strict_of(made).document
    assert found["type"] == "object"
    assert faults(found) == []
    assert faults(made.schema) != []


SENT: list[tuple[Tool, dict[str, Any]]] = [
    (find, {"q": "x", "limit": None, "mode": None}),
    (find, {"q": "x", "limit": 3, "mode": "b"}),
    (
        everything,
        {
            "p": {"x": 1, "y": None},
            "line": {"sku": None, "count": 1},
            "pet": {"kind": "dog", "friend": {"kind": "cat", "lives": None}},
            "when": "2026-01-02T03:04:05Z",
            "id": "6f0c9b5e-1f3a-4b7e-9a55-0d7f5b2a1c11",
            "name": "n",
            "level": "x1",
            "colour": None,
            "tags": None,
            "at": {"x": 2, "y": 1.0},
            "flag": True,
        },
    ),
    (
        plant,
        {
            "tree": {
                "value": "a",
                "children": [{"value": "b", "children": [{"value": "c", "children": None}]}],
            },
            "spare": None,
        },
    ),
    (nothing, {}),
]


@pytest.mark.parametrize(("made", "sent"), SENT, ids=lambda value: str(value)[:20])
def test_what_fits_the_form_fits_the_tool(made: Tool, sent: dict[str, Any]) -> None:
    Draft202012Validator(strict_of(made).document).validate(sent)
    made.check(sent)


def test_null_gives_the_defaults() -> None:
    checked = find.check({"q": "x", "limit": None, "mode": None})
    assert (checked.limit, checked.mode) == (None, "a")


@pytest.mark.parametrize(
    "sent",
    [{"q": "x"}, {"q": "x", "limit": None, "mode": "c"}, {"q": None, "limit": 1, "mode": "a"}],
    ids=str,
)
def test_the_form_is_no_wider_than_the_schema(sent: dict[str, Any]) -> None:
    assert not Draft202012Validator(strict_of(find).document).is_valid(sent)


def test_bounds_and_defaults_are_told() -> None:
    of = strict_of(everything).document["properties"]
    assert of["name"]["description"] == "Its name. (minLength 1, maxLength 9)"
    assert of["colour"]["description"] == 'null: the default, "red"'
    assert of["level"]["anyOf"][1] == {"type": "string", "description": 'pattern "^x"'}
    assert strict_of(find).document["properties"]["mode"] == {
        "anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}],
        "description": 'How. (null: the default, "a")',
    }


def test_a_recursive_form_is_known_as_one_and_made_in_no_time() -> None:
    began = time.perf_counter()
    found = strict_of(plant)
    assert time.perf_counter() - began < 1
    assert found.recursive
    assert list(found.document["$defs"]) == ["Node"]
    assert not strict_of(find).recursive
    assert strict_of(everything).recursive  # by Dog alone


def test_the_schema_itself_is_left_as_it_is() -> None:
    before = repr(everything.schema)
    strict(everything.schema)
    assert repr(everything.schema) == before


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


KEPT: dict[str, tuple[dict[str, Any], Any]] = {
    "several types": (
        {"type": ["string", "null"], "maxLength": 3, "description": "D."},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "D. (maxLength 3)"},
    ),
    "an unknown format": (
        {"type": "string", "format": "phone"},
        {"type": "string", "description": "format phone"},
    ),
    "a known format": (
        {"type": "string", "format": "date"},
        {"type": "string", "format": "date"},
    ),
    "one of several types": (
        {"enum": ["a", 1, None]},
        {
            "anyOf": [
                {"type": "null"},
                {"type": "number", "enum": [1]},
                {"type": "string", "enum": ["a"]},
            ]
        },
    ),
    "one alone": ({"const": "a", "title": "T"}, {"type": "string", "enum": ["a"]}),
    "all of one": (
        {"allOf": [{"type": "integer"}], "description": "D."},
        {"type": "integer", "description": "D."},
    ),
    "types that are implied": (
        {"items": {"properties": {"a": {"type": "string"}}, "required": ["a"]}},
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    ),
    "alternatives in alternatives": (
        {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "null"}]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ),
    "the whole again": ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, None),
}


@pytest.mark.parametrize(("schema", "form"), KEPT.values(), ids=KEPT)
def test_a_form_says_what_the_schema_says(schema: dict[str, Any], form: Any) -> None:
    found = strict(of(v=schema))
    assert isinstance(found, Strict)
    assert faults(found.document) == []
    assert found.document["properties"]["v"] == (schema if form is None else form)
    assert found.recursive == (form is None)


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        found = of(v=found)
    return found


LOOSE: dict[str, tuple[dict[str, Any], str]] = {
    "free keys": (of(v={"type": "object"}), "v takes keys of any name"),
    "free keys of one type": (
        of(v={"type": "object", "additionalProperties": {"type": "string"}}),
        "v takes keys of any name",
    ),
    "keys beside those described": (
        of(v={"type": "string"}) | {"additionalProperties": True},
        "the whole takes keys of any name",
    ),
    "anything": (of(v={}), "v may hold anything"),
    "whatever": (of(v={"items": True}), r"v\[\] may hold anything"),
    "nothing": (of(v=False), "v may hold nothing"),
    "a list of anything": (of(v={"type": "array"}), r"v\[\] may hold anything"),
    "a tuple": (of(v={"type": "array", "prefixItems": [{}]}), "v uses prefixItems"),
    "a not": (of(v={"type": "string", "not": {"const": "a"}}), "v uses not"),
    "all of two": (of(v={"allOf": [{"type": "string"}, {"minLength": 1}]}), "v uses allOf"),
    "two kinds of alternatives": (
        of(v={"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]}),
        "v uses anyOf beside",
    ),
    "alternatives beside keys": (
        of(v=of() | {"anyOf": [{"required": ["a"]}]}),
        "v uses anyOf beside properties",
    ),
    "one of several lists": (of(v={"enum": [[1], [2]]}), "one of several arrays"),
    "a key that is not described": (
        of(v={"type": "object", "properties": {}, "required": ["a"]}),
        r"v\.a is required and not described",
    ),
    "a reference into the middle": (
        of(v={"type": "string"}, w={"$ref": "#/properties/v"}),
        "leads to no definition",
    ),
    "a part with an address": (of(v={"type": "string", "$id": "x"}), r"v uses \$id"),
    "alternatives of the whole": (
        {"type": "object", "anyOf": [of(), of()]},
        "the whole uses anyOf",
    ),
    "too deep": (deep(11), "more than 10 objects deep"),
    "too many keys": (of(**{f"k{n}": {"type": "string"} for n in range(5001)}), "5000 keys"),
    "too many choices": (of(v={"enum": list(range(1001))}), "1000 choices"),
}


@pytest.mark.parametrize(("schema", "why"), LOOSE.values(), ids=LOOSE)
def test_what_has_no_form_says_why(schema: dict[str, Any], why: str) -> None:
    found = strict(schema)
    assert isinstance(found, Loose)
    assert re.search(why, found.why)
