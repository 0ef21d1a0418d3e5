"""However the network cuts an answer of Anthropic's, it is the same answer, or an error that says
what it may have cost, and never a hang."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.models.assemble import Assembly, RawCall
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError, ProviderError
from tests.loopback import Reply
from tests.unit.models.anthropic.asking import (
    answer_to,
    begun,
    block,
    call,
    finished,
    framed,
    streamed,
    text,
    thinking,
)
from tests.unit.models.asking import usage_of

pytestmark = pytest.mark.slow

TEXT = "你好👩‍🚀 a\u2028b\u0085c\x1cd"
EVENTS = [
    begun(input_tokens=9, output_tokens=1),
    {"type": "ping"},
    *thinking(0, "né", "c2ln"),
    *block(1, "redacted_thinking", data="cmVk"),
    *text(2, TEXT),
    *call(3, "find_order", "", '{"q":"n', 'é"}'),
    *finished("tool_use", output_tokens=5),
]
PARTS = [
    Reasoning("né", "c2ln"),
    Reasoning("", "cmVk", form="redacted"),
    Text(TEXT),
    RawCall("find_order", {"q": "né"}),
]
UNFINISHED = range(len(EVENTS) - 1)
"""How many events may come before the model has said why it stopped."""
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def body(newline: str = "\n") -> bytes:
    comment = f": still here{newline}{newline}".encode()
    return comment + comment.join(framed(EVENTS, newline))


def cut(whole: bytes, places: set[int]) -> list[bytes]:
    ends = sorted({0, len(whole)} | {place for place in places if place < len(whole)})
    return [whole[one:other] for one, other in pairwise(ends)]


def check(answer: Assembly) -> None:
    assert answer.parts == PARTS
    assert answer.stop == "calls"
    assert (usage_of(answer).input_tokens, usage_of(answer).output_tokens) == (9, 5)


@settings(max_examples=25, deadline=None)
@given(places=st.sets(st.integers(1, len(body())), max_size=60), newline=ENDS)
def test_an_answer_is_the_same_wherever_the_network_cuts_it(places: set[int], newline: str) -> None:
    check(asyncio.run(answer_to(Reply(cut(body(newline), places)))))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_an_answer_is_the_same_one_byte_at_a_time(newline: str) -> None:
    whole = body(newline)

    check(await answer_to(Reply(cut(whole, set(range(len(whole)))))))


@pytest.mark.parametrize("ending", ["cut", "end", "close"])
@pytest.mark.parametrize("count", UNFINISHED)
async def test_an_answer_cut_before_its_end_is_an_error_that_may_have_cost(
    count: int, ending: Any
) -> None:
    with pytest.raises(ConnectionFailedError) as caught:
        await answer_to(streamed(*EVENTS[:count], ending=ending))

    assert caught.value.may_cost


@pytest.mark.slow
@pytest.mark.parametrize("count", UNFINISHED)
async def test_an_answer_that_falls_silent_before_its_end_is_an_error(count: int) -> None:
    with pytest.raises(ConnectionFailedError, match=r"in 0\.2 seconds|for 0\.2 seconds") as caught:
        await answer_to(streamed(*EVENTS[:count], ending="hang"), timeout=0.2)

    assert caught.value.may_cost


@pytest.mark.parametrize("ending", ["cut", "end", "close", "hang"])
async def test_an_answer_that_has_said_why_it_stopped_is_whole(ending: Any) -> None:
    check(await answer_to(streamed(*EVENTS[:-1], ending=ending), timeout=0.2))


async def test_an_answer_cut_inside_of_a_character_is_an_error() -> None:
    whole = body()

    with pytest.raises(ConnectionFailedError):
        await answer_to(Reply([whole[: whole.index("好".encode()) + 1]], ending="cut"))


async def test_a_body_that_is_no_json_is_an_error() -> None:
    with pytest.raises(ProviderError, match="no JSON") as caught:
        await answer_to(Reply([b'event: message_start\ndata: {"type":\n\n']))

    assert caught.value.may_cost


@pytest.mark.parametrize("sent", [[{"type": "ping"}], [{"type": "message_stop"}], [{"a": 1}]])
async def test_events_without_an_answer_are_an_error(sent: list[dict[str, Any]]) -> None:
    whole = b"".join(framed({"type": "none"} | event for event in sent))

    with pytest.raises(ProviderError, match="no answer"):
        await answer_to(Reply([whole]))


async def test_half_an_emoji_in_text_and_arguments_survives() -> None:
    answer = await answer_to(
        streamed(
            begun(), *text(0, "\udcaf!"), *call(1, "q", '{"s":"\\ud83d"}'), *finished("tool_use")
        )
    )

    assert answer.parts == [Text("\udcaf!"), RawCall("q", {"s": "\ud83d"})]


async def test_an_emoji_in_two_deltas_becomes_whole() -> None:
    answer = await answer_to(
        streamed(begun(), *text(0, "hi \ud83d", "\ude80"), *finished("end_turn"))
    )

    assert answer.parts == [Text("hi 🚀")]
