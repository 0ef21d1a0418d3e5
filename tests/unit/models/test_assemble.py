"""An answer is the same however it was cut into pieces, and never more than it says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.models.assemble import Assembly, RawCall, read_call
from remit.models.request import (
    CallChunk,
    Chunk,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.values import codec
from remit.values.content import Reasoning, Text
from remit.values.errors import ConfigError
from remit.values.usage import Usage

FAMILY = "你好👩‍🚀"
anything = st.text(alphabet=st.characters(codec=None, categories=None))
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=8,
)


def assembled(chunks: Iterable[Chunk]) -> Assembly:
    assembly = Assembly()
    for chunk in chunks:
        assembly.add(chunk)
    assembly.close()
    return assembly


def call(*chunks: CallChunk) -> RawCall:
    (found,) = assembled(chunks).parts
    assert isinstance(found, RawCall)
    return found


def cut(text: str, at: Iterable[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in at), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@given(st.data(), anything, st.lists(st.integers(min_value=0, max_value=99), max_size=9))
@example(None, FAMILY, [1, 2, 3, 4])
def test_text_is_the_same_at_every_cut(data: Any, text: str, at: list[int]) -> None:
    whole = assembled([TextChunk(text)]).parts
    assert assembled(TextChunk(piece) for piece in cut(text, at)).parts == whole


@given(st.dictionaries(anything, plain, max_size=4), st.booleans(), st.lists(st.integers(0, 999)))
@example({"q": FAMILY}, False, [5, 6, 7])
def test_arguments_are_the_same_at_every_cut(
    arguments: dict[str, Any], escaped: bool, at: list[int]
) -> None:
    text = json.dumps(arguments, ensure_ascii=escaped)
    pieces = (CallChunk(0, "" if n else "find", piece) for n, piece in enumerate(cut(text, at)))
    assert call(*pieces) == call(CallChunk(0, "find", text))


@given(st.dictionaries(anything, plain, max_size=4))
def test_arguments_that_were_read_can_be_stored_and_read_again(arguments: dict[str, Any]) -> None:
    found = read_call("find", json.dumps(arguments, ensure_ascii=False))
    assert found.malformed is None
    assert codec.decode(codec.encode(found.arguments), dict) == found.arguments


def test_two_halves_of_a_surrogate_pair_are_joined_across_pieces() -> None:
    assert assembled([TextChunk("a\ud83d"), TextChunk("\ude00b")]).parts == [Text("a😀b")]


def test_a_lone_surrogate_is_kept_in_text_and_in_arguments() -> None:
    assert assembled([TextChunk("hi \ud83d there")]).parts == [Text("hi \ud83d there")]
    assert read_call("f", '{"q":"\\udcaf"}').arguments == {"q": "\udcaf"}


@pytest.mark.parametrize(
    "pieces", [[], [""], ["", ""], ["{}"], ["", "{}"], ["{", "}"], [" \n"], [" {} "]]
)
def test_a_call_without_arguments_has_none(pieces: list[str]) -> None:
    chunks = [CallChunk(0, "now"), *(CallChunk(0, "", piece) for piece in pieces)]
    assert call(*chunks) == RawCall("now", {})


def test_parallel_calls_keep_their_own_arguments() -> None:
    chunks = [
        CallChunk(0, "q", '{"s":"Bu'),
        CallChunk(1, "q", '{"s":"Wo'),
        CallChunk(0, "", 'll"}'),
        CallChunk(1, "", 'olf"}'),
    ]
    assert assembled(chunks).parts == [RawCall("q", {"s": "Bull"}), RawCall("q", {"s": "Woolf"})]


def test_parallel_calls_that_all_have_index_0_are_told_apart() -> None:
    chunks = [CallChunk(0, "q", '{"s":"Bull"}'), CallChunk(0, "q", '{"s":"Woolf"}')]
    assert assembled(chunks).parts == [RawCall("q", {"s": "Bull"}), RawCall("q", {"s": "Woolf"})]


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["x", "}", '\\"', "{}"])
def test_calls_whose_name_comes_with_each_piece_are_read_in_linear_time(piece: str) -> None:
    many = 200_000
    chunks = [CallChunk(0, "q", '{"s":"'), *[CallChunk(0, "q", piece)] * many]
    first, second = assembled([*chunks, CallChunk(0, "q", '"}'), CallChunk(0, "find", "{}")]).parts
    assert isinstance(first, RawCall)
    assert len(codec.encode(first.arguments)) == len('{"s":""}') + many * len(piece)
    assert second == RawCall("find", {})


@given(st.dictionaries(anything, plain, max_size=4), st.lists(st.integers(0, 999)))
@example({"q": '{"}\\'}, list(range(30)))
def test_a_call_ends_where_its_arguments_do_at_every_cut(
    arguments: dict[str, Any], at: list[int]
) -> None:
    text = json.dumps(arguments)
    pieces = [CallChunk(0, "q", piece) for piece in cut(text, at)]
    *_, first, second = assembled([*pieces, CallChunk(0, "q", " "), CallChunk(0, "q", text)]).parts
    assert isinstance(second, RawCall)
    assert isinstance(first, RawCall)
    assert second.arguments == read_call("q", text).arguments


def test_a_name_that_comes_in_pieces_is_one_name() -> None:
    chunks = [CallChunk(0, "find_"), CallChunk(0, "order"), CallChunk(0, "", '{"n":1}')]
    assert call(*chunks) == RawCall("find_order", {"n": 1})


def test_parts_stand_in_the_order_in_which_they_began() -> None:
    chunks: list[Chunk] = [
        ReasoningChunk("need "),
        ReasoningChunk("tool", "c2ln"),
        TextChunk("One "),
        CallChunk(3, "b"),
        CallChunk(1, "a", "{"),
        CallChunk(3, "", '{"x":1}'),
        CallChunk(1, "", "}"),
        TextChunk("moment."),
    ]
    assert assembled(chunks).parts == [
        Reasoning("need tool", "c2ln"),
        Text("One "),
        RawCall("b", {"x": 1}),
        RawCall("a", {}),
        Text("moment."),
    ]


def test_an_empty_piece_leaves_no_part() -> None:
    chunks: list[Chunk] = [ReasoningChunk(""), TextChunk(""), TextChunk("")]
    assert assembled(chunks).parts == []


def test_a_signature_without_text_is_kept() -> None:
    assert assembled([ReasoningChunk("", "c2ln")]).parts == [Reasoning("", "c2ln")]


def test_what_comes_behind_a_signature_is_another_block() -> None:
    told = [
        ReasoningChunk("One"),
        ReasoningChunk(" more.", "a"),
        ReasoningChunk("Two.", "b"),
        ReasoningChunk("", "c", form="redacted"),
        ReasoningChunk("Three."),
        ReasoningChunk("", "d"),
    ]
    assert assembled(told).parts == [
        Reasoning("One more.", "a"),
        Reasoning("Two.", "b"),
        Reasoning("", "c", form="redacted"),
        Reasoning("Three.", "d"),
    ]


def test_pieces_with_one_signature_are_one_block() -> None:
    told = [ReasoningChunk("One", "field"), ReasoningChunk(" more.", "field")]
    assert assembled(told).parts == [Reasoning("One more.", "field")]


def test_a_call_keeps_the_signature_that_any_of_its_pieces_brought() -> None:
    told = [CallChunk(0, "look", "{", "sig"), CallChunk(0, "", "}")]
    assert assembled(told).parts == [RawCall("look", {}, None, "sig")]


@pytest.mark.parametrize("chunk", [ReasoningChunk("", 7), CallChunk(0, "look", "", 7)])  # type: ignore[arg-type]  # a wrong field is what is told
def test_a_signature_that_is_no_text_is_told(chunk: Chunk) -> None:
    with pytest.raises(ConfigError, match="wrong field"):
        assembled([chunk])


def test_the_last_report_of_usage_counts_even_after_the_stop() -> None:
    chunks: list[Chunk] = [
        UsageChunk(Usage(input_tokens=43)),
        StopChunk("length"),
        UsageChunk(Usage(input_tokens=43, output_tokens=1368)),
    ]
    found = assembled(chunks)
    assert (found.usage, found.stop) == (Usage(input_tokens=43, output_tokens=1368), "length")


MALFORMED = {
    "cut": '{"q":"a',
    "a list": "[1]",
    "a text": '"q"',
    "a number": "5",
    "null": "null",
    "two objects": "{} {}",
    "a trailing comma": '{"q":1,}',
    "single quotes": "{'q':1}",
    "not a number": '{"q":NaN}',
    "infinity": '{"q":-Infinity}',
    "beyond every float": '{"q":1e400}',
    "a byte order mark": "\ufeff{}",
    "a raw surrogate outside of a text": "{\ud83d}",
    "a number of 5,000 digits": '{"q":' + "1" * 5_000 + "}",
    "101 deep": '{"q":' + "[" * 100 + "]" * 100 + "}",
    "100,000 deep": '{"q":' * 100_000,
    "100,000 deep and whole": '{"q":' * 100_000 + "1" + "}" * 100_000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_arguments_that_are_no_object_are_kept_as_text_and_call_nothing(text: str) -> None:
    assert read_call("find", text) == RawCall("find", {}, text)


@pytest.mark.slow
@pytest.mark.timeout(20)
def test_long_arguments_are_read_in_linear_time() -> None:
    text = json.dumps({"q": "x" * 3_000_000, "many": list(range(300_000))})
    found = read_call("find", text)
    assert len(found.arguments["q"]) == 3_000_000
    flat = '{"q":[' + ",".join(["[]"] * 300_000) + "]}"
    assert len(read_call("find", flat).arguments["q"]) == 300_000


def test_arguments_of_the_greatest_depth_are_read() -> None:
    text = '{"q":' + "[" * 99 + "]" * 99 + "}"
    assert read_call("find", text).malformed is None
