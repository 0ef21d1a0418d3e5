"""Values survive the codec, whatever people, models and tools put into them."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.values import codec
from remit.values.content import Call, Text, well_formed
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from remit.values.usage import Usage

ANY_TEXT = st.text(
    st.characters(exclude_categories=[]) | st.sampled_from('\0\x7f\ud800\udfff\ufeff\u2028"\\')
)
TEXT = ANY_TEXT.map(well_formed)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=25,
)
CALLS = st.builds(
    Call, id=TEXT, name=TEXT, arguments=st.dictionaries(TEXT, PLAIN, max_size=3), key=TEXT
)
MESSAGES = (
    st.builds(UserMessage, content=st.tuples(st.builds(Text, text=TEXT)))
    | st.builds(AssistantMessage, content=st.tuples(st.builds(Text, text=TEXT), CALLS))
    | st.builds(ToolMessage, call_id=TEXT, tool=TEXT, text=TEXT)
)


class Deep(msgspec.Struct, frozen=True):
    """A struct in a struct."""

    message: UserMessage | AssistantMessage | ToolMessage
    plain: Any
    cost: Decimal


@given(PLAIN)
def test_plain_data_comes_back_the_same(value: Any) -> None:
    body = codec.encode(value)

    back = codec.decode(body, Any)

    assert back == value
    assert json.dumps(back) == json.dumps(value)


@given(MESSAGES, PLAIN)
def test_structs_come_back_the_same(message: Any, plain: Any) -> None:
    value = Deep(message, plain, Decimal("0.1"))

    assert codec.decode(codec.encode(value), Deep) == value


@given(PLAIN)
def test_what_is_written_is_json_for_everyone(value: Any) -> None:
    assert json.loads(codec.encode(value).decode("utf-8")) == value


@given(ANY_TEXT)
def test_halves_of_a_pair_come_back_joined(text: str) -> None:
    assert codec.decode(codec.encode(text), str) == well_formed(text)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\udc00\ud800", "\ufeff", "😀\ud83d"])
def test_texts_that_databases_spoil_are_kept(text: str) -> None:
    assert codec.decode(codec.encode({text: [text]}), dict) == {text: [text]}
    assert b"\0" not in codec.encode(text)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400])
@pytest.mark.parametrize("text", ["plain", "\ud800"])
def test_big_integers_are_kept(number: int, text: str) -> None:
    assert codec.decode(codec.encode([number, text]), list) == [number, text]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("text", ["plain", "\ud800"])
def test_what_is_no_number_becomes_null(number: float, text: str) -> None:
    value = {"a": [number, (number,), {"b": number}], "t": text}

    assert codec.decode(codec.encode(value), dict) == {
        "a": [None, [None], {"b": None}],
        "t": text,
    }


@pytest.mark.parametrize("number", [-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e16])
@pytest.mark.parametrize("text", ["plain", "\ud800"])
def test_floats_keep_every_bit(number: float, text: str) -> None:
    (back, _) = codec.decode(codec.encode([number, text]), list)
    assert math.copysign(1, back) == math.copysign(1, number)
    assert back == number


def test_money_is_kept_exactly() -> None:
    usage = Usage(input_tokens=3, cost=Decimal("0.100000001"))

    assert codec.decode(codec.encode(usage), Usage) == usage
    assert b'"0.100000001"' in codec.encode(usage)


def nested(depth: int, seed: object) -> object:
    for _ in range(depth):
        seed = [seed]
    return seed


@pytest.mark.parametrize("seed", [1, "\ud800", math.nan])
def test_nesting_of_hundreds_is_kept(seed: object) -> None:
    back = codec.decode(codec.encode(nested(300, [seed, "\ud800"])), list)

    assert back == nested(300, [None if seed is math.nan else seed, "\ud800"])


@pytest.mark.parametrize("seed", [1, "\ud800"])
def test_what_is_nested_too_deeply_is_told(seed: object) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        codec.encode(nested(100_000, seed))


def test_a_circle_is_told() -> None:
    circle: list[object] = ["\ud800"]
    circle.append(circle)
    with pytest.raises(ValueError, match="nested too deeply"):
        codec.encode(circle)


@pytest.mark.parametrize("start", [b"", b'["\\ud800",'])
@pytest.mark.parametrize("end", [b"", b"]"])
def test_bytes_that_nest_too_deeply_are_told(start: bytes, end: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="nested too deeply"):
        codec.decode(start + b"[" * 100_000 + end * 100_000, list)


@pytest.mark.parametrize("value", [object(), ["\ud800", object()], {"a": print}])
def test_what_is_no_data_is_told(value: object) -> None:
    with pytest.raises(TypeError):
        codec.encode(value)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"1 2", b'"\xff"', b"[NaN]", b'[Infinity, "\\ud800"]', b"\xff\xfe1\x00", b"nul"],
)
def test_bytes_that_are_no_json_are_told(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError) as told:
        codec.decode(body, Any)
    assert not isinstance(told.value, msgspec.ValidationError)


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (b'{"t":"user"}', UserMessage),
        (b'{"t":"other","content":[]}', UserMessage),
        (b'{"a":"\\ud800"}', dict[str, int]),
        (b'["\\ud800"]', list[Decimal]),
        (b"1", str),
    ],
)
def test_another_type_s_value_is_told(body: bytes, type_: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        codec.decode(body, type_)


def test_a_live_value_is_converted_only_when_it_must_be() -> None:
    message = UserMessage((Text("hello"),))
    plain = msgspec.to_builtins(message)

    assert codec.convert(message, UserMessage) is message
    assert codec.convert(plain, UserMessage) == message


def test_the_canonical_form_has_one_order_of_keys() -> None:
    assert codec.canonical({"a": 1, "b": [{"d": 2, "c": 3}]}) == codec.canonical(
        {"b": [{"c": 3, "d": 2}], "a": 1}
    )
    odd = codec.canonical({"\ud800": 1, "a": 2})
    assert odd == codec.canonical({"a": 2, "\ud800": 1})
    assert codec.decode(odd, object) == {"\ud800": 1, "a": 2}
    assert codec.canonical({"a": 1}) != codec.canonical({"a": 1.0})
