"""Laws of what can be read of a typed answer while it streams."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from remit.agent.answer.partial import NOTHING, Partial, Partials
from remit.agent.answer.typed import Form, form_of
from remit.models.request import CallChunk

NAMES = frozenset({"find_order"})
LEAK = '<tool_call>{"name": "find_order", "arguments": {}}</tool_call>'
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text("abc d\"'\\\n\u00e4\U0001f600"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abcd", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


class Order(BaseModel):
    number: str
    notes: list[str] = []


def form(type_: Any = Order) -> Form:
    found = form_of(type_, "output")
    assert found is not None
    return found


def fed(text: str, size: int = 1, type_: Any = Order) -> list[Any]:
    """What is known on the way."""
    partial = Partial(form(type_), NAMES)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [known for piece in pieces if (known := partial.feed(piece).value) is not None]


def leads(one: Any, other: Any) -> bool:
    """Whether `one` may become `other` as more of it comes."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(key in other and leads(each, other[key]) for key, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) <= len(other) and all(map(leads, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return other.startswith(one)
    return bool(one == other)


@pytest.mark.slow
@given(
    value=st.dictionaries(st.text("abcd", max_size=3), PLAIN, max_size=4), size=st.integers(1, 9)
)
def test_what_is_known_leads_to_the_answer(value: Any, size: int) -> None:
    for known in fed(json.dumps(value, ensure_ascii=size % 2 == 0), size, dict[str, Any]):
        assert leads(known, value)


@pytest.mark.slow
@given(value=PLAIN, size=st.integers(1, 9))
def test_the_text_comes_whole_and_in_order(value: Any, size: int) -> None:
    text = json.dumps(value, indent=size % 3 or None)
    partials = Partials(form(dict[str, Any]), NAMES)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(partials.say(piece).text for piece in pieces) + partials.close("") == text


@pytest.mark.parametrize("text", ["It is there.", "Here:\n```json\n{}\n```\n", "", " "])
def test_words_pass(text: str) -> None:
    partials = Partials(form(), NAMES)
    assert "".join(partials.say(each).text for each in text) + partials.close("") == text


@pytest.mark.parametrize(
    "leak", [LEAK, f"Well.\n{LEAK}", '{"name": "find_order", "arguments": {}}']
)
@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("behind", ["", '", "more": "of it', '"]}'])
def test_the_text_of_a_call_inside_is_never_shown(leak: str, size: int, behind: str) -> None:
    text = f'{{"number": "A-1", "notes": [{json.dumps(leak)[:-1]}{behind}'
    partials = Partials(form(), NAMES)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    shown = "".join(partials.say(piece).text for piece in pieces) + partials.close("")
    assert "tool_call" not in shown
    assert "find_order" not in shown


def test_a_long_text_is_seen_to_grow() -> None:
    text = json.dumps({"number": "A-1", "notes": [f"note {each}" for each in range(200)]})
    known = fed(text, 4)
    lengths = [len(each.get("notes", ())) for each in known]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 20
    assert lengths[-1] > 170


@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
def test_the_work_grows_with_the_length_alone(size: int) -> None:
    def work(length: int) -> int:
        partial = Partial(form(), NAMES)
        text = json.dumps({"number": "x" * length})
        for at in range(0, len(text), size):
            partial.feed(text[at : at + size])
        return partial.steps

    assert work(200_000) <= 10 * 200_000


@pytest.mark.parametrize(
    "leak", [LEAK, f"Well.\n{LEAK}", '{"name": "find_order", "arguments": {}}']
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_call_in_a_text_of_it_is_never_shown(leak: str, size: int) -> None:
    text = json.dumps({"number": "A-1", "notes": ["fine", leak, "more " * 50]})
    for known in fed(text, size):
        shown = json.dumps(known)
        assert "tool_call" not in shown
        assert "find_order" not in shown


@pytest.mark.parametrize(
    "text", ["It is on its way.", "", "  ", "```json\n{", "[1,]", "nope", '{"a" 1}']
)
def test_what_is_no_json_gives_nothing(text: str) -> None:
    assert [known for known in fed(text, 3) if known not in ({}, [1])] == []


def test_half_a_character_is_sent_on_as_providers_take_it() -> None:
    assert fed('{"number": "a\ud83d', 100) == [{"number": "a\ufffd"}]


def test_the_object_around_what_is_none_is_taken_off() -> None:
    assert fed('{"answer": [1, 2, 3, 4, 5, 6, 7, 8, 9', 100, list[int]) == [list(range(1, 9))]
    assert fed("[1, 2", 100, list[int]) == [[1]]
    assert fed("[1, 2,", 100, list[int]) == [[1, 2]]
    assert fed("12", 100, int) == []
    assert fed('{"answer": true', 100, bool) == [True]
    assert fed('{"ans', 100, list[int]) == []


def call(arguments: str, name: str = "", index: int = 0) -> CallChunk:
    return CallChunk(index, name, arguments)


def test_the_final_call_is_read_as_the_answer_is() -> None:
    partials = Partials(form(), NAMES)
    assert partials.call(call("", "final_answer")) == NOTHING
    assert partials.call(call('{"number": "xyz')).value == {"number": "xyz"}
    assert partials.call(call('x" and what follows', index=1)) == NOTHING


def test_beside_other_calls_no_answer_is_one() -> None:
    partials = Partials(form(), NAMES)
    partials.call(call('{"number": "xyz', "final_answer"))
    assert partials.call(call("{}", "find_order", 1)) == NOTHING
    assert partials.call(call("-1 and then much more of it")) == NOTHING


def test_of_two_final_calls_the_first_is_followed() -> None:
    partials = Partials(form(), NAMES)
    assert partials.call(call('{"number": "xyz', "final_answer")).value == {"number": "xyz"}
    assert partials.call(call('{"number": "abc', "final_answer", 1)) == NOTHING
    assert partials.call(call('" and then much more of it', index=1)) == NOTHING


@pytest.mark.parametrize("chunk", [CallChunk(0, None, "{}"), CallChunk(0, "final_answer", 3)])  # type: ignore[arg-type]  # a model of the user's own may yield anything
def test_what_is_no_text_is_left_to_the_check_of_the_whole(chunk: CallChunk) -> None:
    assert Partials(form(), NAMES).call(chunk) == NOTHING
