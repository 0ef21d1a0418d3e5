"""What the events of an answer come to, from Anthropic and from servers that are nearly like it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.models.anthropic.pieces import Reader
from remit.models.assemble import Assembly, RawCall
from remit.models.request import Stop, UsageChunk
from remit.values.content import Reasoning, Text
from tests.loopback import loopback, plain
from tests.unit.models.anthropic.asking import (
    Event,
    answer_to,
    begun,
    block,
    call,
    chunks_of,
    finished,
    model,
    streamed,
    text,
    thinking,
)
from tests.unit.models.asking import usage_of

pytestmark = pytest.mark.slow


async def answer(*events: Event, reason: str | None = "end_turn") -> Assembly:
    return await answer_to(streamed(begun(), *events, *finished(reason)))


def parts_of(answer: Assembly) -> list[Any]:
    return list(answer.parts)


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), ("", "{}"), (" ", "{", "}")])
async def test_a_call_without_arguments_has_none(pieces: tuple[str, ...]) -> None:
    found = await answer(*call(0, "now", *pieces), reason="tool_use")

    assert parts_of(found) == [RawCall("now", {})]


async def test_arguments_may_come_whole_with_the_calls_beginning() -> None:
    found = await answer(*call(0, "add", input={"a": 1}), *call(1, "add", "", input={"a": 2}))

    assert parts_of(found) == [RawCall("add", {"a": 1}), RawCall("add", {"a": 2})]


async def test_arguments_that_stream_stand_for_those_of_the_beginning() -> None:
    found = await answer(*call(0, "add", '{"a"', ":2}", input={"a": 1}))

    assert parts_of(found) == [RawCall("add", {"a": 2})]


@pytest.mark.parametrize("ids", [("t1", "t1"), ("", ""), (None, None)])
@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (None, None)])
async def test_parallel_calls_keep_their_own_arguments(ids: Any, indexes: Any) -> None:
    calls = [
        call(index, "add", '{"a":', f"{n}}}", id=id)
        for n, (index, id) in enumerate(zip(indexes, ids, strict=True))
    ]

    found = await answer(*calls[0], *calls[1], reason="tool_use")

    assert parts_of(found) == [RawCall("add", {"a": 0}), RawCall("add", {"a": 1})]


async def test_calls_whose_pieces_come_mixed_keep_their_own_arguments() -> None:
    one, other = call(0, "add", '{"a":', "1}"), call(1, "add", '{"a":', "2}")
    mixed = [event for pair in zip(one, other, strict=True) for event in pair]

    found = await answer(*mixed)

    assert parts_of(found) == [RawCall("add", {"a": 1}), RawCall("add", {"a": 2})]


async def test_arguments_that_are_no_json_are_told_as_they_came() -> None:
    found = await answer(*call(0, "add", '{"a":'), reason="max_tokens")

    assert parts_of(found) == [RawCall("add", {}, '{"a":')]


async def test_each_block_of_thinking_keeps_its_own_signature() -> None:
    found = await answer(
        *thinking(0, "One.", "c2ln"),
        *thinking(1, "Two.", "c2ln"),
        *block(2, "redacted_thinking", data="cmVk"),
        *block(3, "redacted_thinking", data="cmVkMg"),
        *thinking(4, "Three.", "aGVy"),
        *text(5, "Hi"),
    )

    assert parts_of(found) == [
        Reasoning("One.", "c2ln"),
        Reasoning("Two.", "c2ln"),
        Reasoning("", "cmVk", form="redacted"),
        Reasoning("", "cmVkMg", form="redacted"),
        Reasoning("Three.", "aGVy"),
        Text("Hi"),
    ]


async def test_thinking_that_is_left_out_keeps_its_signature() -> None:
    delta = {"type": "signature_delta", "signature": "c2ln"}

    found = await answer(*block(0, "thinking", delta, thinking="", signature=""), *text(1, "Hi"))

    assert parts_of(found) == [Reasoning("", "c2ln"), Text("Hi")]


async def test_thinking_without_a_signature_is_reasoning_all_the_same() -> None:
    found = await answer(*thinking(0, "One.", None), *text(1, "Hi"))

    assert parts_of(found) == [Reasoning("One."), Text("Hi")]


async def test_the_end_of_a_block_may_be_left_out() -> None:
    events = [*thinking(0, "One.", "c2ln"), *text(1, "Hi"), *call(2, "now", input={"a": 1})]

    found = await answer(*(e for e in events if e["type"] != "content_block_stop"))

    assert parts_of(found) == [Reasoning("One.", "c2ln"), Text("Hi"), RawCall("now", {"a": 1})]


UNKNOWN: dict[str, list[Event]] = {
    "an event": [{"type": "message_weather", "index": 0, "delta": {"text": "no"}}],
    "a block": block(9, "hologram", {"type": "text_delta_3d", "voxels": "no"}, voxels="no"),
    "a delta of a text": block(9, "text", {"type": "glow_delta", "glow": "no"}, text=""),
    "a citation": block(9, "text", {"type": "citations_delta", "citation": {"url": "no"}}, text=""),
    "a tool of its own": block(
        9, "server_tool_use", {"type": "input_json_delta", "partial_json": '{"q":'}, name="no"
    ),
    "its tool's result": block(9, "web_search_tool_result", content=[{"title": "no"}]),
    "a block without a kind": [{"type": "content_block_start", "index": 9, "content_block": None}],
    "an end without a beginning": [{"type": "content_block_stop", "index": 9}],
    "a delta without a block": [
        {
            "type": "content_block_delta",
            "index": 9,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        }
    ],
    "no delta at all": [{"type": "content_block_delta", "index": 9, "delta": None}],
}


@pytest.mark.parametrize("unknown", UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_what_is_not_known_is_passed_over(unknown: list[Event]) -> None:
    found = await answer(*text(0, "Hel"), *unknown, *text(1, "lo"), *unknown)

    assert parts_of(found) == [Text("Hello")]
    assert found.stop == "end"


STOPS: list[tuple[str | None, Stop, Stop]] = [
    ("end_turn", "end", "calls"),
    ("stop_sequence", "end", "calls"),
    ("tool_use", "end", "calls"),
    ("max_tokens", "length", "length"),
    ("model_context_window_exceeded", "length", "length"),
    ("refusal", "refusal", "refusal"),
    ("pause_turn", "pause", "pause"),
    ("tired", "end", "calls"),
    (None, "end", "calls"),
]


@pytest.mark.parametrize(("reason", "stop", "with_calls"), STOPS)
async def test_why_it_stopped_is_told(reason: str | None, stop: Stop, with_calls: Stop) -> None:
    assert (await answer(*text(0, "Hi"), reason=reason)).stop == stop
    assert (await answer(*call(0, "now"), reason=reason)).stop == with_calls


WHY = {"type": "refusal", "category": "cyber", "explanation": "That could do harm."}


async def test_a_refusal_without_words_says_why() -> None:
    found = await answer_to(streamed(begun(), *finished("refusal", WHY)))

    assert parts_of(found) == [Text("That could do harm.")]


async def test_a_refusal_with_words_keeps_them() -> None:
    found = await answer_to(streamed(begun(), *text(0, "I will not."), *finished("refusal", WHY)))

    assert parts_of(found) == [Text("I will not.")]


async def test_a_refusal_without_anything_is_one() -> None:
    found = await answer_to(streamed(begun(), *finished("refusal")))

    assert (parts_of(found), found.stop) == ([], "refusal")


async def test_an_answer_in_one_piece_is_one() -> None:
    whole = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "One.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "cmVk"},
            {"type": "text", "text": "Hi"},
            {"type": "server_tool_use", "name": "no", "input": {}},
            {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}},
            {"type": "tool_use", "id": "t", "name": "now", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }

    found = await answer_to(plain(whole))

    assert parts_of(found) == [
        Reasoning("One.", "c2ln"),
        Reasoning("", "cmVk", form="redacted"),
        Text("Hi"),
        RawCall("add", {"a": 1}),
        RawCall("now", {}),
    ]
    assert usage_of(found).tokens == 5


async def test_usage_is_told_as_soon_as_it_is_known() -> None:
    reply = streamed(begun(input_tokens=9, output_tokens=1), *text(0, "Hi"), *finished("end_turn"))

    async with loopback(reply) as server:
        first = (await chunks_of(model(server)))[0]

    assert isinstance(first, UsageChunk)
    assert first.usage.input_tokens == 9


async def test_without_any_usage_none_is_told() -> None:
    assert (await answer(*text(0, "Hi"))).usage is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
KINDS = st.sampled_from(
    [
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop", "message", "ping", "odd"),
    ]
)
INSIDE = st.dictionaries(
    st.sampled_from(
        [
            *("type", "text", "thinking", "signature", "data", "name", "input"),
            *("partial_json", "usage", "stop_reason", "stop_details", "content"),
        ]
    ),
    JUNK
    | st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "refusal"])
    | st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]),
)
ODD = st.dictionaries(
    st.sampled_from(["index", "message", "content_block", "delta", "usage", "content"]),
    JUNK | INSIDE | st.lists(INSIDE, max_size=2),
)


@given(st.lists(JUNK | st.builds(lambda kind, rest: rest | {"type": kind}, KINDS, ODD)))
def test_whatever_the_events_hold_what_is_read_is_an_answer(events: list[Any]) -> None:
    reader, found = Reader(), Assembly()

    for chunk in [chunk for event in events for chunk in reader.take(event)]:
        found.add(chunk)
    for chunk in reader.close():
        found.add(chunk)

    found.close()
