"""A tool from a JSON Schema takes what its schema says, and JSON strings of it."""

import json
from typing import Any

import pytest

from remit.tools.approval import digest
from remit.tools.arguments import ArgumentsError
from remit.tools.context import ToolContext
from remit.tools.tool import Tool
from tests.unit.tools.calls import Desk

SCHEMA = {
    "type": "object",
    "properties": {
        "queries": {"type": "array", "items": {"type": "string"}},
        "maxBytes": {"type": "integer", "minimum": 1},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "deep": {"type": ["boolean", "null"]},
        "mode": {"enum": ["fast", "slow"]},
        "level": {"enum": [1, 2]},
        "tree": {"$ref": "#/$defs/tree"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "text": {"type": ["string", "array"]},
        "one": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    },
    "required": ["queries"],
    "additionalProperties": False,
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"const": "x"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["value"],
        }
    },
}


async def echo(args: dict[str, Any], ctx: ToolContext[Any]) -> dict[str, Any]:
    args["seen"] = ctx.call_id
    return args


search = Tool(name="search", description="Searches.", schema=SCHEMA, handler=echo)


def refusal(arguments: dict[str, Any]) -> str:
    with pytest.raises(ArgumentsError) as caught:
        search.check(arguments)
    return str(caught.value)


def test_json_strings_are_parsed_where_the_schema_asks() -> None:
    sent = {"queries": '["test"]', "maxBytes": "200000", "headers": '{"A":"b"}', "deep": "true"}

    assert search.check(sent) == {
        "queries": ["test"],
        "maxBytes": 200000,
        "headers": {"A": "b"},
        "deep": True,
    }
    assert search.canonical(sent) == search.check(sent)
    assert sent["queries"] == '["test"]'


@pytest.mark.parametrize(
    ("name", "sent", "got"),
    [
        ("level", "2", 2),
        ("either", "3", 3),
        ("either", "[1]", [1]),
        ("either", '["1"]', [1]),
        ("text", "[1]", "[1]"),
        ("tree", '{"value":"x","children":"[{\\"value\\":\\"x\\"}]"}', None),
    ],
)
def test_strings_inside_and_under_alternatives_are_parsed(
    name: str, sent: str, got: object
) -> None:
    expected = {"value": "x", "children": [{"value": "x"}]} if got is None else got

    assert search.check({"queries": [], name: sent})[name] == expected


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "- needs queries\n"),
        ({"queries": "x"}, '- queries: should be array, not "x"\n'),
        ({"queries": [1]}, "- queries[0]: should be string, not 1\n"),
        ({"queries": [], "maxBytes": 0}, "- maxBytes: breaks the rule minimum 1: it was 0\n"),
        ({"queries": [], "mode": "x"}, '- mode: should be one of "fast", "slow", not "x"\n'),
        ({"queries": [], "other": 1}, "- takes no other; it takes: queries, maxBytes"),
        ({"queries": [], "tree": {"value": "y"}}, '- tree.value: should be "x", not "y"\n'),
        ({"queries": [], "tree": {"value": "x", "children": [{}]}}, "- tree.children[0]: needs"),
        (
            {"queries": [], "either": "x"},
            '- either: should be integer, not "x" or should be array, not "x"\n',
        ),
        ({"queries": [], "one": 1}, "- one: fits more than one of the allowed forms"),
    ],
)
def test_a_refusal_says_what_to_send(arguments: dict[str, Any], says: str) -> None:
    assert says in refusal(arguments)


def test_a_refusal_is_bounded() -> None:
    assert len(refusal({"queries": ["x"], "mode": "y" * 100_000})) < 500
    assert len(refusal({"queries": [1] * 100_000})) < 1_000
    assert len(refusal({"queries": []} | {f"k{n}" * 5_000: 1 for n in range(50)})) < 1_500


def test_arguments_nested_without_end_are_refused() -> None:
    tree: dict[str, Any] = {"value": "x"}
    for _ in range(600):
        tree = {"value": "x", "children": [tree]}

    assert "too deeply" in refusal({"queries": [], "tree": tree})


def test_a_part_with_an_address_of_its_own_counts_from_there() -> None:
    part = {"$id": "https://example.com/a", "$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}}
    made = Tool(
        name="own",
        description="Has a part.",
        schema={"type": "object", "properties": {"a": part}},
        handler=echo,
    )

    assert made.check({"a": None}) == {"a": None}
    with pytest.raises(ArgumentsError):
        made.check({"a": 1})


def test_nan_is_no_number() -> None:
    refusal({"queries": [], "maxBytes": float("nan")})
    refusal({"queries": [], "maxBytes": "NaN"})


async def test_a_handler_is_given_a_dict_of_its_own() -> None:
    sent = {"queries": ["a"]}

    outcome = await Desk().run(search, sent)

    assert json.loads(outcome.text) == {"queries": ["a"], "seen": "c_1"}
    assert sent == {"queries": ["a"]}


def test_what_is_approved_has_one_digest_however_it_was_spelled() -> None:
    spelled = {"queries": '["test"]', "maxBytes": "5"}

    assert digest("search", search.canonical(spelled)) == digest(
        "search", search.canonical({"maxBytes": 5, "queries": ["test"]})
    )
