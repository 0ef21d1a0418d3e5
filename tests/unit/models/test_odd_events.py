"""Whatever a server puts into an answer's fields, it is an answer with sound counts, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.models.anthropic.pieces import Reader as OfMessages
from remit.models.assemble import Assembly
from remit.models.google.pieces import Reader as OfGemini
from remit.models.openai_chat import reply
from remit.models.openai_chat.pieces import Reader as OfChat
from remit.models.openai_responses.reading import Reader as OfResponses
from remit.models.wire.counts import MOST
from remit.models.wire.events import Unreadable, read_json
from remit.values.usage import Usage

ASKED = {"model": "m", "messages": ["Where is my order?"]}
TEXT = "It is on its way."

MAKERS: dict[str, Callable[[], Any]] = {
    "chat": lambda: OfChat(["f"], ASKED),
    "messages": lambda: OfMessages(ASKED),
    "gemini": lambda: OfGemini(["f"], ASKED),
    "responses": lambda: OfResponses(["f"], ASKED),
}


def answers(maker: str, input: Any, output: Any) -> list[Any]:
    """The events of an answer with text, a call, reasoning and a report of these counts."""
    made: dict[str, list[Any]] = {
        "chat": [
            chat(content=[{"type": "text", "text": "", "thinking": [{"text": "h"}]}]),
            chat(reasoning_details=[{"index": 0, "type": "t", "text": "h", "data": "d"}]),
            chat(reasoning_details=[{"index": 0, "type": "t", "text": "m", "data": "d"}]),
            chat(content=TEXT, refusal=None, reasoning="hm"),
            chat(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])
            | {"usage": counts("prompt", "completion", input, output)},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ],
        "messages": [
            {"type": "message_start", "message": {"usage": {"input_tokens": input}}},
            *block(0, {"type": "thinking"}, {"type": "thinking_delta", "thinking": "hm"}),
            *block(1, {"type": "text"}, {"type": "text_delta", "text": TEXT}),
            *block(2, {"type": "tool_use", "name": "f", "input": {"a": 1}}, {}),
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_details": {"explanation": "no"}},
                "usage": counts("input", "output", input, output),
            },
            {"type": "message_stop"},
        ],
        "gemini": [
            gemini({"text": "hm", "thought": True, "thoughtSignature": "c2ln"}),
            gemini({"text": TEXT}),
            gemini({"functionCall": {"name": "f", "args": {}}}),
            {
                "candidates": [{"index": 0, "finishReason": "STOP", "finishMessage": ""}],
                "promptFeedback": {"blockReason": None},
                "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output},
            },
        ],
        "responses": [
            *item(0, {"type": "reasoning", "id": "r", "summary": [{"text": "hm"}]}),
            *item(1, {"type": "message", "id": "m", "content": [SAYS], "phase": "p"}),
            *item(2, {"type": "function_call", "id": "c", "name": "f", "arguments": "{}"}),
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [{"type": "message", "id": "m", "content": [SAYS]}],
                    "usage": counts("input", "output", input, output),
                    "incomplete_details": {"reason": None},
                },
            },
        ],
    }
    return made[maker]


SAYS = {"type": "output_text", "text": TEXT}


def chat(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def block(index: int, begun: Any, delta: Any) -> list[Any]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def gemini(part: Any) -> dict[str, Any]:
    return {"candidates": [{"index": 0, "content": {"parts": [part]}}]}


def item(index: int, body: Any) -> list[Any]:
    return [
        {"type": f"response.output_item.{stage}", "output_index": index, "item": body}
        for stage in ("added", "done")
    ]


def counts(sent: str, made: str, input: Any, output: Any) -> dict[str, Any]:
    details = {"cached_tokens": 0, "reasoning_tokens": 0, "thinking_tokens": 0}
    return {
        f"{sent}_tokens": input,
        f"{made}_tokens": output,
        f"{sent}_tokens_details": details,
        f"{made}_tokens_details": details,
    }


def read(maker: str, events: list[Any]) -> Assembly:
    reader, assembly = MAKERS[maker](), Assembly()
    for event in events:
        for chunk in reader.take(event):
            assembly.add(chunk)
    for chunk in reader.close():
        assembly.add(chunk)
    assembly.close()
    return assembly


def usage_of(maker: str, input: Any, output: Any) -> Usage:
    usage = read(maker, answers(maker, input, output)).usage
    assert usage is not None
    return usage


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value, the value itself left out."""
    found = []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((*place, key))
        found += places(inner, (*place, key)) if isinstance(inner, dict | list) else []
    return found


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """`value` with what stands at the place replaced, where there is such a place."""
    if not place:
        return new
    key, *rest = place
    if isinstance(value, dict) and key in value:
        return value | {key: changed(value[key], tuple(rest), new)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [*value[:key], changed(value[key], tuple(rest), new), *value[key + 1 :]]
    return value


HUGE = 10**400
ODD: list[Any] = [
    *(None, True, "", "é", [], {}, [[]], {"a": []}, ["x"], [{"text": 5}], {"text": []}),
    *(0, -1, 1.5, -HUGE, HUGE, float("nan"), float("inf"), -float("inf"), 1e308),
]


@pytest.mark.parametrize("maker", MAKERS)
def test_every_field_may_hold_whatever_it_likes(maker: str) -> None:
    sent: Any = answers(maker, 5, 6)

    for place in places(sent):
        for odd in ODD:
            usage = read(maker, changed(sent, place, odd)).usage
            assert usage is None or 0 <= usage.input_tokens <= 2 * MOST
            assert usage is None or 0 <= usage.output_tokens <= 2 * MOST


@pytest.mark.parametrize("maker", MAKERS)
@given(drawn=st.data())
def test_fields_may_hold_whatever_they_like_together(maker: str, drawn: Any) -> None:
    sent: Any = answers(maker, 5, 6)
    change = st.tuples(st.sampled_from(places(sent)), st.sampled_from(ODD))
    for place, odd in drawn.draw(st.lists(change, min_size=2, max_size=6)):
        sent = changed(sent, place, odd)

    read(maker, sent)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("count", [HUGE, 1e308, float("inf"), float("nan"), -5, -HUGE, 2 * MOST])
def test_a_count_that_no_answer_reaches_is_clamped_and_marked(maker: str, count: Any) -> None:
    usage = usage_of(maker, count, 2)

    assert usage.estimated
    assert 0 < usage.input_tokens <= MOST
    assert usage.output_tokens == 2


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("nothing", [None, 0, "7"])
def test_a_part_that_no_report_told_is_estimated_and_marked(maker: str, nothing: Any) -> None:
    of_input, of_output = usage_of(maker, nothing, 7), usage_of(maker, 9, nothing)

    assert of_input.estimated
    assert of_input.input_tokens >= len(json.dumps(ASKED)) // 4
    assert of_input.output_tokens == 7
    assert of_output.estimated
    assert of_output.input_tokens == 9
    assert of_output.output_tokens >= len(TEXT) // 4
    assert not usage_of(maker, 9, 7).estimated


@pytest.mark.parametrize("maker", [maker for maker in MAKERS if maker != "messages"])
def test_a_report_of_nothing_at_all_is_estimated(maker: str) -> None:
    usage = usage_of(maker, 0, 0)

    assert usage.estimated
    assert usage.input_tokens > 0 < usage.output_tokens


@pytest.mark.parametrize("deep", [201, 600, 900])
def test_what_is_too_deep_to_be_written_again_is_not_read(deep: int) -> None:
    with pytest.raises(Unreadable, match="deep"):
        read_json(b"[" * deep + b"]" * deep)

    assert read_json(b"[" * 200 + b"]" * 200)
    assert read_json(json.dumps("[" * 900).encode()) == "[" * 900


@pytest.mark.parametrize("name", [[], {}, 5, None])
def test_a_reply_may_be_named_whatever_it_likes(name: object) -> None:
    text = json.dumps({"name": name})

    assert [chunk.text for chunk in reply.read(text, ["f"])] == [text]  # type: ignore[union-attr]
