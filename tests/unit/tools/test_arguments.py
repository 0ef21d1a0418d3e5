"""Arguments become what the tool declared, or go back with what to mend."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
import time
import types
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from annotated_types import Ge
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, StrictInt

from remit.tools.arguments import ArgumentsError
from remit.tools.tool import Tool, tool
from remit.values.errors import ConfigError, Refused


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    next: Point | None = None


class Line(TypedDict):
    sku: str
    count: NotRequired[int]
    under: NotRequired[list[Line]]


class Node(BaseModel):
    value: str
    children: list[Node] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    when: datetime
    count: int


@tool
async def everything(  # noqa: PLR0913  # every kind of type once
    p: Point,
    line: Line,
    node: Node,
    colour: Colour,
    when: datetime,
    id: uuid.UUID,
    amount: Decimal,
    level: Annotated[int, Ge(1)],
    tags: set[str],
    file: Path,
    day: date | None = None,
    names: list[str] = [],  # noqa: B006
) -> None:
    """Takes everything."""


SENT: dict[str, Any] = {
    "p": {"x": 1, "next": {"x": 2}},
    "line": {"sku": "A", "under": [{"sku": "B", "count": 2}]},
    "node": {"value": "a", "children": [{"value": "b", "children": [{"value": "c"}]}]},
    "colour": "red",
    "when": "2026-01-02T03:04:05Z",
    "id": "6f0c9b5e-1f3a-4b7e-9a55-0d7f5b2a1c11",
    "amount": "1.10",
    "level": 1,
    "tags": ["b", "a"],
    "file": "/tmp/a",
}


def refusal(of: Tool, arguments: dict[str, Any]) -> str:
    with pytest.raises(ArgumentsError) as caught:
        of.check(arguments)
    return str(caught.value)


def one(hint: Any) -> Tool:
    """A tool with one parameter `v` of this type."""

    def take(v: Any) -> None:
        """Takes."""

    take.__annotations__ = {"v": hint}
    return tool(take)


def test_arguments_arrive_as_the_declared_classes() -> None:
    got = everything.check(SENT)

    assert got.p == Point(1, Point(2))
    assert got.line == {"sku": "A", "under": [{"sku": "B", "count": 2}]}
    assert isinstance(got.node.children[0].children[0], Node)
    assert got.colour is Colour.RED
    assert got.when == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert got.id == uuid.UUID(SENT["id"])
    assert str(got.amount) == "1.10"
    assert got.tags == {"a", "b"}
    assert got.file == Path("/tmp/a")
    assert got.day is None


def test_the_classes_are_the_same_after_the_arguments_were_stored() -> None:
    stored = json.loads(json.dumps(everything.canonical(SENT)))

    assert everything.check(stored) == everything.check(SENT)


def test_types_that_a_function_defines_for_itself_are_found() -> None:
    class Inner(TypedDict):
        deeper: NotRequired[list[Inner]]  # type: ignore[misc]  # mypy has no recursion here

    @dataclasses.dataclass
    class Outer:
        colour: Colour
        outer: Outer | None = None

    def mine(function: Any) -> Any:
        return tool(function)

    @mine
    def nested(i: Inner, j: Outer | None = None) -> None:
        """Nests."""

    got = nested.check({"i": {"deeper": [{}]}, "j": {"colour": "red", "outer": None}})
    assert got.i == {"deeper": [{}]}
    assert got.j == Outer(Colour.RED)


def test_a_type_of_a_function_that_has_returned_is_found_where_it_is_used() -> None:
    def function() -> Any:
        class Inner(BaseModel):
            n: int

        def use(i: Inner) -> Inner:
            """Uses."""
            return Inner(n=i.n)

        return use

    assert tool(function()).check({"i": {"n": 1}}).i.n == 1


def test_a_name_of_somebody_elses_function_is_not_found() -> None:
    def use(i: Hidden) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Uses."""

    other = types.ModuleType("other")
    exec("def make(tool, function):\n    Hidden = int\n    return tool(function)", other.__dict__)

    with pytest.raises(ConfigError, match="Hidden"):
        other.make(tool, use)


def test_a_recursive_argument_is_quick() -> None:
    def tree(depth: int) -> dict[str, Any]:
        return {"value": "v", "children": [tree(depth - 1)] if depth else []}

    begun = time.perf_counter()

    @tool
    def plant(root: Node) -> None:
        """Plants."""

    plant.check({"root": tree(40)})
    assert time.perf_counter() - begun < 1


def test_strict_types_take_the_forms_that_json_has_for_them() -> None:
    got = one(Strict).check({"v": {"when": "2026-01-02T03:04:05Z", "count": 1}})

    assert got.v.when.year == 2026
    assert "count" in refusal(one(Strict), {"v": {"when": "2026-01-02T03:04:05Z", "count": 1.5}})
    assert one(StrictInt).check({"v": "5"}).v == 5


def test_a_mutable_default_is_not_shared() -> None:
    everything.check(SENT).names.append("x")

    assert everything.check(SENT).names == []


def test_checked_arguments_cannot_be_changed() -> None:
    with pytest.raises(Exception, match="frozen"):
        everything.check(SENT).level = 2


@pytest.mark.parametrize(
    ("hint", "sent", "got"),
    [
        (list[str], '["a"]', ["a"]),
        (int, "200000", 200000),
        (int, " 7 ", 7),
        (float, "1.5", 1.5),
        (float, "1e3", 1000.0),
        (bool, "true", True),
        (dict[str, str], '{"A":"b"}', {"A": "b"}),
        (list[int], ["1", "2"], [1, 2]),
        (list[int], '["1","2"]', [1, 2]),
        (list[list[int]], ["[1]", '["2"]'], [[1], [2]]),
        (dict[str, list[int]], '{"a":"[1,\\"2\\"]"}', {"a": [1, 2]}),
        (list[int] | None, "[1]", [1]),
        (int | list[int], "[1]", [1]),
        (int | str, "5", "5"),
        (list[str] | str, '["a"]', '["a"]'),
        (str, '["a"]', '["a"]'),
        (str, "5", "5"),
        (Any, "5", "5"),
        (Literal[1, 2], "2", 2),
        (Level, "1", Level.LOW),
        (Point, '{"x":"3"}', Point(3)),
        (Node, '{"value":"5"}', Node(value="5")),
        (Decimal, "1.10", Decimal("1.10")),
        (set[int], '["1"]', {1}),
    ],
    ids=str,
)
def test_a_json_string_is_accepted_where_another_type_is_asked_for(
    hint: Any, sent: object, got: object
) -> None:
    made = one(hint)
    checked = made.check({"v": sent}).v

    assert checked == got
    assert type(checked) is type(got)
    canonical = made.canonical({"v": sent})
    assert made.check(canonical).v == got
    assert made.canonical(canonical) == canonical


def test_the_canonical_arguments_hold_parsed_values_and_no_defaults() -> None:
    sent = SENT | {"p": '{"x":"1"}', "level": "3"}

    canonical = everything.canonical(sent)

    assert canonical == SENT | {"p": {"x": 1}, "level": 3}
    assert sent["p"] == '{"x":"1"}'


@pytest.mark.parametrize(
    ("hint", "sent"),
    [
        (list[str], "[1]"),
        (list[str], '"a"'),
        (list[str], "[" * 100_000),
        (int, "x"),
        (int, "NaN"),
        (int, "null"),
        (int, "1.5"),
        (float, "NaN"),
        (float, "Infinity"),
        (float, float("nan")),
        (float, float("inf")),
        (Decimal, "NaN"),
        (bool, "[]"),
        (dict[str, int], "[1]"),
        (Point, '{"y":1}'),
        (str, 5),
        (Literal[1, 2], "3"),
        (Colour, "green"),
        (Colour, '"red"'),
        (list[Any], "[NaN]"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_does_not_fit_is_refused_and_bounded(hint: Any, sent: object) -> None:
    text = refusal(one(hint), {"v": sent})

    assert text.startswith("The arguments do not fit take, which was not run:\n- v")
    assert "pydantic" not in text
    assert "http" not in text
    assert len(text) < 700


def test_a_refusal_says_which_arguments_and_what_to_send() -> None:
    @tool
    def refund(order: str, amount: int, colour: Colour = Colour.RED) -> None:
        """Refunds."""

    text = refusal(refund, {"ordr": "A", "amount": "many", "colour": "green"})

    assert text == (
        "The arguments do not fit refund, which was not run:\n"
        "- order: is required and was left out\n"
        "- amount: Input should be a valid integer, unable to parse string as an integer, "
        'not "many"\n'
        "- colour: Input should be 'red' or 'blue', not \"green\"\n"
        "- ordr: is not an argument; the arguments are: order, amount, colour\n"
        "Call it again with arguments that fit."
    )
    assert issubclass(ArgumentsError, Refused)


def test_a_refusal_names_the_place_inside() -> None:
    text = refusal(everything, SENT | {"line": {"sku": "A", "under": [{"sku": 1}]}})

    assert "- line.under[0].sku: Input should be a valid string, not 1" in text


def test_an_unknown_key_inside_is_refused_by_name() -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        x: int

    assert "- v.y: is not an argument" in refusal(one(Closed), {"v": {"x": 1, "y": 2}})


def test_types_of_another_module_keep_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = types.ModuleType("shop")
    monkeypatch.setitem(sys.modules, "shop", shop)
    exec(  # its `Point` is not the one above
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Order:\n    at: Point\n"
        "@dataclass\nclass Point:\n    name: str\n",
        shop.__dict__,
    )

    got = one(shop.Order).check({"v": {"at": {"name": "x"}}})

    assert got.v.at.name == "x"


def test_a_refusal_of_many_places_is_bounded() -> None:
    text = refusal(one(list[int]), {"v": ["x" * 10_000] * 1_000})

    assert "and 992 more" in text
    assert len(text) < 2_000


def test_a_refusal_of_unknown_names_is_bounded() -> None:
    text = refusal(one(int), {"v": 1} | {f"k{n}" * 5_000: n for n in range(20)})

    assert len(text) < 4_000


def test_a_validators_own_words_reach_the_model() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("send an even number")
        return value

    assert "- v: send an even number, not 3" in refusal(
        one(Annotated[int, AfterValidator(even)]), {"v": 3}
    )


def test_a_validator_that_breaks_is_told_without_its_words() -> None:
    def breaks(value: int) -> int:
        raise KeyError("secret")

    text = refusal(one(Annotated[int, AfterValidator(breaks)]), {"v": 3})

    assert "secret" not in text


@pytest.mark.parametrize("sent", [None, [], "x", 3])
def test_arguments_that_are_no_object_are_refused(sent: Any) -> None:
    assert "must be a JSON object" in refusal(one(int), sent)


def test_arguments_that_json_cannot_hold_are_refused() -> None:
    assert "JSON cannot" in refusal(one(Any), {"v": object()})
    cyclic: dict[str, Any] = {}
    cyclic["v"] = cyclic
    assert "nested too deeply" in refusal(one(Any), cyclic)


def test_an_edit_may_be_written_in_pythons_own_types() -> None:
    got = everything.check(
        SENT | {"amount": Decimal("2.50"), "when": datetime(2026, 1, 2, tzinfo=UTC)}
    )

    assert str(got.amount) == "2.50"
    assert got.when == datetime(2026, 1, 2, tzinfo=UTC)


def test_half_an_emoji_in_an_argument_is_kept() -> None:
    made = one(dict[str, str])

    assert made.check({"v": {"a": "hi \ud83d there"}}).v == {"a": "hi \ud83d there"}
    assert made.check({"v": '{"a": "\\udcaf"}'}).v == {"a": "\udcaf"}
    assert made.canonical({"v": {"a": "\udcaf"}}) == {"v": {"a": "\udcaf"}}
    assert one(str).check({"v": "C:\\udata"}).v == "C:\\udata"


def test_nul_and_large_numbers_are_kept() -> None:
    assert one(str).check({"v": "a\x00b"}).v == "a\x00b"
    assert one(int).check({"v": 10**30}).v == 10**30
    assert one(int).check({"v": str(2**64)}).v == 2**64


def test_arguments_nested_without_end_are_refused() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]

    assert "nested too deeply" in refusal(one(Any), {"v": deep})


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["p", "level", "tags", "names", "x"]), json_values))
def test_whatever_a_model_sends_is_checked_or_refused(sent: dict[str, Any]) -> None:
    try:
        checked = everything.check(SENT | sent)
    except ArgumentsError as error:
        refused = str(error)
    else:
        assert everything.check(everything.canonical(SENT | sent)) == checked
        return
    assert len(refused) < 6_000


@given(json_values)
def test_a_json_string_fits_where_its_value_fits(value: Any) -> None:
    made = one(dict[str, Any] | list[Any])
    fits = isinstance(value, dict | list)
    try:
        got = made.check({"v": json.dumps(value)}).v
    except ArgumentsError:
        assert not fits
    else:
        assert got == value


@given(st.text() | st.integers().map(str) | json_values.map(json.dumps))
def test_a_string_stays_a_string_where_one_is_asked_for(text: str) -> None:
    assert one(str).check({"v": text}).v == text
    assert one(int | str).check({"v": text}).v == text
