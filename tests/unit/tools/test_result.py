"""A result has one form as text, whatever it is."""

import dataclasses
import enum
import ipaddress
import json
import math
import uuid
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypedDict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, SecretStr, SerializationInfo, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from remit.tools import plain as plain_form
from remit.tools.plain import ResultError
from remit.tools.result import cut, render


class Colour(enum.Enum):
    RED = "red"
    TEN = Decimal("10.0")


class Word(enum.StrEnum):
    YES = "yes"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    at: datetime = datetime(2026, 1, 2, tzinfo=UTC)


class Place(NamedTuple):
    name: str
    size: Decimal


Pair = namedtuple("Pair", "x y")


class Struct(msgspec.Struct, rename="camel"):
    long_name: bytes
    tags: frozenset[str] = frozenset()


class Tagged(msgspec.Struct, tag="tagged"):
    x: int = 1


class Model(BaseModel):
    price: Decimal = Decimal("1.10")
    raw: bytes = b"\xff\x00"
    tags: set[str] = {"b", "a"}
    when: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    share: float = math.nan
    hidden: int = Field(default=1, exclude=True)


class Masked(BaseModel):
    card: str = "4111"
    secret: SecretStr = SecretStr("s")

    @field_serializer("card", when_used="json")
    def mask(self, card: str) -> str:
        return "****"


class MaskedByMode(BaseModel):
    card: str = "4111"

    @field_serializer("card")
    def mask(self, card: str, info: SerializationInfo) -> str:
        return "****" if info.mode_is_json() else card


@pydantic_dataclass
class Checked:
    x: Decimal


class Typed(TypedDict):
    a: int


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "other"


FORMS: list[tuple[object, str]] = [
    ("as it is", "as it is"),
    ('{"a": 1}', '{"a": 1}'),
    ("", ""),
    (Text("own"), "own"),
    (Word.YES, "yes"),
    (None, "null"),
    (True, "true"),
    (12, "12"),
    (2**70, "1180591620717411303424"),
    (1.5, "1.5"),
    (1e300, "1e+300"),
    (math.nan, '"NaN"'),
    (math.inf, '"Infinity"'),
    (-math.inf, '"-Infinity"'),
    ({"mean": math.nan, "max": math.inf}, '{"mean":"NaN","max":"Infinity"}'),
    (Decimal("1.10"), '"1.10"'),
    (Decimal("1E+3"), '"1E+3"'),
    (Decimal("NaN"), '"NaN"'),
    (datetime(2026, 1, 2, 3, 4, 5), '"2026-01-02T03:04:05"'),
    (datetime(2026, 1, 2, 3, 4, 5, 600, UTC), '"2026-01-02T03:04:05.000600Z"'),
    (datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2))), '"2026-01-02T00:00:00+02:00"'),
    (date(2026, 1, 2), '"2026-01-02"'),
    (time(3, 4, 5), '"03:04:05"'),
    (timedelta(days=1, seconds=3.5), '"P1DT3.5S"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (b"\xff\x00", '"/wA="'),
    (bytearray(b"a"), '"YQ=="'),
    (memoryview(b"a"), '"YQ=="'),
    (Path("/tmp/a"), '"/tmp/a"'),
    (Colour.RED, '"red"'),
    (Colour.TEN, '"10.0"'),
    (Level.LOW, "1"),
    ([1, "a", None], '[1,"a",null]'),
    ((1, (2,)), "[1,[2]]"),
    ({"b", "a", "c"}, '["a","b","c"]'),
    (frozenset({1, "1", None}), '["1",1,null]'),
    ({1: "one", None: 2, False: 3, 1.5: 4}, '{"1":"one","null":2,"false":3,"1.5":4}'),
    ({Colour.RED: 1, date(2026, 1, 2): 2, (1, 2): 3}, '{"red":1,"2026-01-02":2,"[1,2]":3}'),
    ({uuid.UUID(int=1): Decimal("1.0")}, '{"00000000-0000-0000-0000-000000000001":"1.0"}'),
    (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
    (defaultdict(list, a=[1]), '{"a":[1]}'),
    (MappingProxyType({"a": 1}), '{"a":1}'),
    (UserDict({"a": 1}), '{"a":1}'),
    (Typed(a=1), '{"a":1}'),
    (Point(1), '{"x":1,"at":"2026-01-02T00:00:00Z"}'),
    (Place("a", Decimal("2.0")), '{"name":"a","size":"2.0"}'),
    (Pair(1, 2), '{"x":1,"y":2}'),
    (Struct(b"a", frozenset({"z", "y"})), '{"longName":"YQ==","tags":["y","z"]}'),
    (Tagged(), '{"type":"tagged","x":1}'),
    (
        Model(),
        '{"price":"1.10","raw":"/wA=","tags":["a","b"],"when":"2026-01-02T00:00:00Z","share":"NaN"}',
    ),
    (Masked(), '{"card":"****","secret":"**********"}'),
    (MaskedByMode(), '{"card":"****"}'),
    (SecretStr("s"), '"**********"'),
    (RootModel[list[int]]([1]), "[1]"),
    (Checked(Decimal("3.0")), '{"x":"3.0"}'),
    (deque([1, 2]), "[1,2]"),
    (ipaddress.IPv4Address("10.0.0.1"), '"10.0.0.1"'),
    ("a\x00b", "a\x00b"),
    (["a\x00b"], '["a\\u0000b"]'),
    ("é😀", "é😀"),
    (["é😀"], '["é😀"]'),
    ("hi \ud83d there", "hi \ud83d there"),
    (["\udcaf"], '["\udcaf"]'),
    ("\ud83d\ude00", "😀"),
    (["\ud83d\ude00"], '["😀"]'),
]


@pytest.mark.parametrize(("value", "text"), FORMS, ids=lambda value: type(value).__name__)
def test_a_value_has_this_form(value: object, text: str) -> None:
    assert render(value, None) == text


def test_the_form_is_the_same_deep_inside() -> None:
    value = {"rows": [Point(1), Model(), {Colour.RED: {b"a"}}]}

    assert json.loads(render(value, None)) == {
        "rows": [
            json.loads(render(Point(1), None)),
            json.loads(render(Model(), None)),
            {"red": ["YQ=="]},
        ]
    }


def forever() -> Iterator[int]:
    while True:
        yield 1


class Endless(UserDict[str, int]):
    def __iter__(self) -> Iterator[str]:
        return (str(n) for n, _ in enumerate(forever()))

    def __getitem__(self, key: str) -> int:
        return 1


class Hostile:
    def __str__(self) -> NoReturn:
        raise RuntimeError("secret")

    __repr__ = __iter__ = __len__ = __str__


class Lying(list[int]):
    def __iter__(self) -> Iterator[int]:
        return forever()


@dataclasses.dataclass
class Broken:
    @property
    def x(self) -> int:
        raise RuntimeError("secret")

    x: int = 3  # type: ignore[no-redef]  # noqa: F811


class Careless(BaseModel):
    @field_serializer("x", check_fields=False)
    def breaks(self, x: int) -> int:
        raise RuntimeError("secret")

    x: int = 1


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append({"a": value})
    return value


def deep() -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    return value


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (object(), "a object has no JSON form"),
        (Hostile(), "a Hostile has no JSON form"),
        ([{"a": Hostile()}], "a Hostile has no JSON form"),
        (forever(), "a generator has no JSON form"),
        (int, "a type has no JSON form"),
        (lambda: 1, "a function has no JSON form"),
        (ValueError("secret"), "a ValueError has no JSON form"),
        (cyclic(), "holds itself"),
        (deep(), "100 deep"),
        ({1: "a", "1": "b"}, "two keys"),
        (10**5_000, "too long"),
        (Careless(), "reading it raised"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_a_form_is_told_and_its_content_is_not(value: object, says: str) -> None:
    with pytest.raises(ResultError, match=says) as caught:
        render(value, 10)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_mapping_without_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_form, "VALUES", 1_000)

    with pytest.raises(ResultError, match="more than 1000 values"):
        render(Endless(), None)


def test_a_list_that_lies_about_iterating_gives_what_it_holds() -> None:
    assert render(Lying([1, 2]), None) == "[1,2]"


def test_a_long_result_is_cut_with_a_note_of_its_full_size() -> None:
    text = render("x y " * 750_000, 20_000)

    assert text == "x y " * 5_000 + "\n[Cut: the first 20000 of 3000000 characters.]"


def test_a_result_at_its_limit_is_whole() -> None:
    assert render("x" * 10, 10) == "x" * 10
    assert render("x" * 10, None) == "x" * 10


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("ab\ud83d\ude00cd", 3, "ab😀"),
        ("abe\u0301d", 3, "ab"),
        ("ab👩\u200d👧d", 3, "ab"),
        ("ab👩\u200d👧d", 4, "ab"),
        ("ab👩\u200d👧d", 5, "ab👩\u200d👧"),
        ("ab👍🏽d", 3, "ab"),
        ("ab❤\ufe0fd", 3, "ab"),
        ("a🇩🇪🇫🇷d", 2, "a"),
        ("a🇩🇪🇫🇷d", 3, "a🇩🇪"),
        ("a🇩🇪🇫🇷d", 4, "a🇩🇪"),
        ("ab\r\ncd", 3, "ab"),
        ("a" + "\u0301" * 100, 60, "a" + "\u0301" * 59),
        ("\u0301" * 5, 1, "\u0301"),
        ('{"a":"' + "QUJD" * 100 + '="}', 77, '{"a":"' + "QUJD" * 17),
        ("data:image/png;base64," + "QUJD" * 100, 101, "data:image/png;base64," + "QUJD" * 19),
    ],
)
def test_a_cut_parts_no_character_and_no_base64_unit(text: str, limit: int, kept: str) -> None:
    shown, _, note = render(text, limit).rpartition("\n")

    assert shown == kept
    assert note.startswith(f"[Cut: the first {len(kept)} of ")


@given(st.text(st.characters() | st.sampled_from("e\u0301\u200d👩🇩🇪\r\nA=")), st.integers(1, 60))
def test_a_cut_text_begins_as_the_whole_does(text: str, limit: int) -> None:
    short = cut(text, limit)

    if len(text) <= limit:
        assert short == text
    else:
        shown = short.rpartition("\n[Cut: ")[0]
        assert text.startswith(shown)
        assert limit - 36 < len(shown) <= limit
        assert len(shown) > 0


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.decimals()
    | st.datetimes(timezones=st.none() | st.timezones())
    | st.timedeltas()
    | st.uuids()
    | st.binary()
    | st.sets(st.integers() | st.text()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=6,
)


@pytest.mark.slow
@given(plain)
def test_a_result_is_strict_json_or_text(value: Any) -> None:
    text = render(value, None)

    if not isinstance(value, str):
        json.loads(text, parse_constant=lambda token: pytest.fail(token))


@given(st.lists(st.text() | st.integers() | st.dates(), unique=True))
def test_a_set_has_one_form_whatever_its_order(members: list[Any]) -> None:
    assert render(set(members), None) == render(set(reversed(members)), None)
