"""Which forms of an answer Anthropic's structured outputs can hold a model to."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from remit.models.anthropic.schema import OPTIONAL, UNIONS, fitted


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    name: str = Field(min_length=1, description="What it is.")
    price: Annotated[float, Field(ge=0)] | None = None


class Order(BaseModel):
    """An order."""

    number: str
    at: date
    colour: Colour
    kind: Literal["gift", "own"] = "own"
    lines: list[Line] = Field(min_length=2)


class Tree(BaseModel):
    children: list[Tree]


class One(BaseModel):
    other: Other


class Other(BaseModel):
    ones: list[One]


class Open(BaseModel):
    facts: dict[str, int]


class Anything(BaseModel):
    value: Any


class Pair(BaseModel):
    both: tuple[int, str]


def schema(type_: Any) -> dict[str, Any]:
    return TypeAdapter(type_).json_schema()


def test_a_type_keeps_what_is_known_and_tells_the_rest() -> None:
    found = fitted(schema(Order))

    assert found == {
        "type": "object",
        "description": "An order.",
        "properties": {
            "number": {"type": "string"},
            "at": {"type": "string", "format": "date"},
            "colour": {"$ref": "#/$defs/Colour"},
            "kind": {"type": "string", "enum": ["gift", "own"]},
            "lines": {
                "type": "array",
                "items": {"$ref": "#/$defs/Line"},
                "description": '{"minItems": 2}',
            },
        },
        "required": ["number", "at", "colour", "lines"],
        "additionalProperties": False,
        "$defs": {
            "Colour": {"type": "string", "enum": ["red", "blue"]},
            "Line": {
                "type": "object",
                "properties": {
                    "name": {
                        "type": "string",
                        "description": 'What it is. {"minLength": 1}',
                    },
                    "price": {
                        "anyOf": [
                            {"type": "number", "description": '{"minimum": 0}'},
                            {"type": "null"},
                        ]
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    }


@pytest.mark.parametrize("type_", [Tree, One, Open, Anything, Pair, list[Line], Line | Order])
def test_a_type_that_has_no_form_there_is_none(type_: Any) -> None:
    assert fitted(schema(type_)) is None


def test_a_schema_is_left_as_it_was() -> None:
    given = schema(Order)

    fitted(given)

    assert given == schema(Order)


def wide(keys: int, kind: dict[str, Any], *, needed: bool) -> dict[str, Any]:
    properties = {f"k{n}": kind for n in range(keys)}
    required = list(properties) if needed else []
    return {"type": "object", "properties": properties, "required": required}


def test_what_is_too_wide_has_no_form() -> None:
    text, either = {"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}

    assert fitted(wide(OPTIONAL, text, needed=False)) is not None
    assert fitted(wide(OPTIONAL + 1, text, needed=False)) is None
    assert fitted(wide(UNIONS, either, needed=True)) is not None
    assert fitted(wide(UNIONS + 1, either, needed=True)) is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}},
        {"type": "object", "properties": {"a": {"enum": [{"b": 1}]}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"allOf": [{"type": "string"}]}}},
    ],
)
def test_a_schema_that_is_not_known_has_no_form(document: dict[str, Any]) -> None:
    assert fitted(document) is None
