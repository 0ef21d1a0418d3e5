"""Readers look through all of an answer's parts, so an answer has no more than an end of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remit.models.anthropic.pieces import Reader as OfMessages
from remit.models.google.pieces import Reader as OfGemini
from remit.models.openai_chat.pieces import Reader as OfChat
from remit.models.openai_responses.reading import Reader as OfResponses
from remit.models.wire.counts import MOST_PARTS
from remit.values.errors import ProviderError
from tests.loopback import delta, stream
from tests.unit.models.asking import answer_to


def chat(number: int) -> Any:
    return delta(tool_calls=[called(number)])


def called(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "function": {"name": "f", "arguments": "{}"}}


def messages(number: int) -> Any:
    begun = {"type": "text", "text": "x"}
    return {"type": "content_block_start", "index": number, "content_block": begun}


def responses(number: int) -> Any:
    item = {"type": "function_call", "id": f"c{number}", "name": "f"}
    return {"type": "response.output_item.added", "output_index": number, "item": item}


def gemini(number: int) -> Any:
    part = {"functionCall": {"name": "f", "args": {}}}
    return {"candidates": [{"index": 0, "content": {"parts": [part]}}]}


KINDS: dict[str, tuple[Callable[[], Any], Callable[[int], Any]]] = {
    "chat": (OfChat, chat),
    "messages": (OfMessages, messages),
    "responses": (OfResponses, responses),
    "gemini": (OfGemini, gemini),
}


@pytest.mark.parametrize(("made", "event"), KINDS.values(), ids=KINDS)
def test_an_answer_of_too_many_parts_is_ended(made: Any, event: Any) -> None:
    reader = made()
    for number in range(MOST_PARTS):
        reader.take(event(number))
    assert not reader.ended

    reader.take(event(MOST_PARTS))

    assert reader.ended
    assert f"more than {MOST_PARTS}" in reader.error["message"]


def whole(count: int) -> dict[str, Any]:
    item = {"type": "function_call", "name": "f", "arguments": "{}"}
    output = [item | {"id": f"c{number}"} for number in range(count)]
    return {"type": "response.completed", "response": {"output": output}}


WHOLE: dict[str, tuple[Callable[[], Any], Callable[[int], Any]]] = {
    "chat": (OfChat, lambda count: delta(tool_calls=[called(n) for n in range(count)])),
    "messages": (
        OfMessages,
        lambda count: {"type": "message", "content": [{"type": "tool_use", "name": "f"}] * count},
    ),
    "responses": (OfResponses, whole),
}


@pytest.mark.parametrize(("made", "event"), WHOLE.values(), ids=WHOLE)
def test_one_event_holds_no_more_than_others(made: Any, event: Any) -> None:
    few, many = made(), made()

    few.take(event(MOST_PARTS))
    many.take(event(MOST_PARTS + 1))

    assert few.error is None
    assert f"more than {MOST_PARTS}" in many.error["message"]


async def test_who_asks_is_told_that_an_answer_has_too_many_calls() -> None:
    with pytest.raises(ProviderError, match="more than 500 calls") as caught:
        await answer_to(stream(*map(chat, range(MOST_PARTS + 1)), delta("stop")), tools=["f"])

    assert caught.value.may_cost
