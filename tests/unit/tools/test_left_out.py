"""Null stands for an argument that is left out, where only that fits."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from remit.tools.arguments import NULLS, ArgumentsError
from remit.tools.context import ToolContext
from remit.tools.tool import Tool, tool


class Filter(BaseModel):
    field: str
    exact: bool = True


class Page(TypedDict, total=False):
    size: int


@tool
def search(
    q: str,
    limit: int | None = 5,
    mode: Literal["a", "b"] = "a",
    where: list[Filter] = [],  # noqa: B006
    page: Page = {},  # noqa: B006
    weight: float = 1.0,
) -> None:
    """Searches."""


async def take(args: dict[str, Any], ctx: ToolContext[Any]) -> dict[str, Any]:
    return args


FROM_SCHEMA = Tool(
    name="take",
    description="Takes.",
    schema={
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "free": {}},
        "required": ["q"],
        "additionalProperties": False,
    },
    handler=take,
)


def test_null_gives_the_default() -> None:
    checked = search.check({"q": "x", "mode": None, "where": None, "page": None, "weight": None})

    assert (checked.mode, checked.where, checked.page, checked.weight) == ("a", [], {}, 1.0)


def test_null_stays_where_it_is_a_value() -> None:
    assert search.check({"q": "x", "limit": None}).limit is None


def test_null_inside_is_left_out_too() -> None:
    sent = {"q": "x", "where": [{"field": "f", "exact": None}], "page": {"size": None}}

    checked = search.check(sent)

    assert checked.where == [Filter(field="f")]
    assert checked.page == {}
    assert sent["page"] == {"size": None}


def test_null_in_a_json_string_is_left_out_too() -> None:
    checked = search.check({"q": "x", "where": '[{"field": "f", "exact": null}]'})
    assert checked.where == [Filter(field="f")]


def test_what_a_person_sees_has_no_such_null() -> None:
    assert search.canonical({"q": "x", "mode": None, "limit": None}) == {"q": "x", "limit": None}


@pytest.mark.parametrize(
    "sent",
    [
        {"q": None},
        {"q": None, "mode": None},
        {"q": "x", "bogus": None},
        {"q": "x", "where": [None]},
        {"q": "x", "where": [{"field": None}]},
        {"q": "x", "weight": float("nan")},
        {"q": "x", "where": [{"field": "f", "exact": float("inf")}]},
        {"q": "x", "mode": "c", "weight": None},
    ],
    ids=str,
)
def test_null_excuses_nothing_else(sent: dict[str, Any]) -> None:
    with pytest.raises(ArgumentsError, match="do not fit search"):
        search.check(sent)


def test_a_tool_from_a_schema_is_told_nothing_of_it() -> None:
    assert FROM_SCHEMA.check({"q": "x", "n": None, "free": None}) == {"q": "x", "free": None}
    for sent in ({"q": None}, {"q": "x", "bogus": None}, {"q": "x", "n": float("nan")}):
        with pytest.raises(ArgumentsError):
            FROM_SCHEMA.check(sent)


def test_the_nulls_that_are_left_out_are_bounded() -> None:
    many = [{"field": "f", "exact": None}] * (NULLS + 1)
    with pytest.raises(ArgumentsError, match=r"where\[32\]\.exact"):
        search.check({"q": "x", "where": many})
