"""However the network cuts an answer, it is the same answer, or an error, and never a hang."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.models.assemble import RawCall
from remit.models.google.bare import events_alone
from remit.models.request import CallChunk, Chunk, ReasoningChunk, TextChunk
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage
from tests.loopback import Reply, loopback
from tests.unit.models.gemini.asking import (
    answer_to,
    call,
    chunk,
    events,
    into,
    model,
    text,
    used,
)

pytestmark = pytest.mark.slow

TEXT = '你好👩‍🚀 a\u2028b\u0085c\x1cd {["]}\\'
CHUNKS: list[Any] = [
    chunk(text("né", thought=True)),
    chunk(text(TEXT), usageMetadata=used(9, 1)),
    chunk(call(q="né", signature="YQ=="), call(q="👩‍🚀")),
    chunk(text(""), finish="STOP", usageMetadata=used(9, 5, 2)),
]
PARTS = [
    Reasoning("né"),
    Text(TEXT),
    RawCall("find_order", {"q": "né"}, None, "YQ=="),
    RawCall("find_order", {"q": "👩‍🚀"}),
]
USED = Usage(input_tokens=9, output_tokens=7, reasoning_tokens=2)


def body(newline: str = "\r\n", space: str = " ") -> bytes:
    """The answer with its characters as they are, and with comments in between."""
    lines = ["\ufeff: hello", "event: message", "id: 1"]
    for each in CHUNKS:
        lines += [f"data:{space}{json.dumps(each, ensure_ascii=False)}", "", ": still here", ""]
    return newline.join([*lines, "", ""]).encode()


def cut(whole: bytes, places: set[int]) -> list[bytes]:
    ends = sorted({0, len(whole)} | {place for place in places if place < len(whole)})
    return [whole[one:other] for one, other in pairwise(ends)]


ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@settings(max_examples=15, deadline=None)
@given(
    places=st.sets(st.integers(1, len(body())), max_size=40),
    newline=ENDS,
    space=st.sampled_from(["", " "]),
)
def test_an_answer_is_the_same_wherever_the_network_cuts_it(
    places: set[int], newline: str, space: str
) -> None:
    reply = Reply(cut(body(newline, space), places))

    answer = asyncio.run(answer_to(reply, tools=["find_order"]))

    assert (answer.parts, answer.usage, answer.stop) == (PARTS, USED, "calls")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_an_answer_is_the_same_one_byte_at_a_time(newline: str) -> None:
    whole = body(newline)

    answer = await answer_to(Reply(cut(whole, set(range(len(whole))))), tools=["find_order"])

    assert (answer.parts, answer.usage) == (PARTS, USED)


@given(places=st.sets(st.integers(1, 400), max_size=30))
def test_bare_json_is_one_event_at_the_end_wherever_it_is_cut(places: set[int]) -> None:
    told = json.dumps({"error": {"message": "né", "code": 503}}, indent=1, ensure_ascii=False)
    whole = events(CHUNKS[0]) + told.replace("\n", "\r\n").encode() + b"\r\n" + events(CHUNKS[1])

    found = asyncio.run(passed(cut(whole, places)))

    start, _, last = found.partition(b"\n\ndata: {")
    assert start.strip() == (events(CHUNKS[0]) + events(CHUNKS[1])).strip()
    assert json.loads(b"{" + last) == json.loads(told)


async def passed(pieces: list[bytes]) -> bytes:
    async def received() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return b"".join([piece async for piece in events_alone(received())])


FINISHED = 4
"""How many of the chunks lead up to the finish, and with it to the end."""


@pytest.mark.parametrize("ending", ["cut", "end", "close"])
@pytest.mark.parametrize("count", range(FINISHED))
async def test_an_answer_cut_before_its_end_is_an_error_that_may_have_cost(
    count: int, ending: Any
) -> None:
    seen: list[Chunk] = []
    sent = [events(each) for each in CHUNKS[:count]]
    async with loopback(Reply(sent, ending=ending)) as server:
        with pytest.raises(ConnectionFailedError) as caught:
            await into(seen, model(server))

    assert caught.value.may_cost
    kinds = {type(each) for each in seen} & {TextChunk, ReasoningChunk, CallChunk}
    assert kinds == set([ReasoningChunk, TextChunk, CallChunk][:count])


@pytest.mark.parametrize("ending", ["cut", "end", "close"])
async def test_an_answer_cut_before_its_first_token_is_no_other_error(ending: Any) -> None:
    with pytest.raises(ConnectionFailedError):
        await answer_to(Reply([events(chunk(text("")), {"responseId": "r"})], ending=ending))


@pytest.mark.slow
@pytest.mark.parametrize("count", range(FINISHED))
async def test_an_answer_that_falls_silent_before_its_end_is_an_error(count: int) -> None:
    sent = [events(each) for each in CHUNKS[:count]]

    with pytest.raises(ConnectionFailedError, match=r"in 0\.2 seconds|for 0\.2 seconds"):
        await answer_to(Reply(sent, ending="hang"), timeout=0.2)


@pytest.mark.slow
async def test_signs_of_life_are_no_answer() -> None:
    sent = [events(CHUNKS[0]), b": still here\r\n\r\n"]

    with pytest.raises(ConnectionFailedError, match=r"for 0\.3 seconds"):
        await answer_to(Reply(sent, ending="repeat", pause=0.05), timeout=0.3)


@pytest.mark.parametrize("ending", ["cut", "end", "close", "hang"])
async def test_an_answer_that_has_said_why_it_stopped_is_whole(ending: Any) -> None:
    reply = Reply([events(each) for each in CHUNKS], ending=ending)

    answer = await answer_to(reply, tools=["find_order"], timeout=0.2)

    assert (answer.parts, answer.usage) == (PARTS, USED)


@pytest.mark.parametrize("at", [60, 75, 90])
@pytest.mark.parametrize(
    ("ending", "error"), [("cut", ConnectionFailedError), ("end", ProviderError)]
)
async def test_an_answer_cut_inside_of_an_event_is_an_error(
    at: int, ending: Any, error: type[Exception]
) -> None:
    half = b"data: " + json.dumps(CHUNKS[1], ensure_ascii=False).encode()[:at]

    with pytest.raises(error):
        await answer_to(Reply([events(CHUNKS[0]) + half], ending=ending))


async def test_an_emoji_in_two_chunks_becomes_whole() -> None:
    halves = [chunk(text("hi \ud83d")), chunk(text("\ude80"), finish="STOP")]

    assert (await answer_to(Reply([events(*halves)]))).parts == [Text("hi 🚀")]


async def test_half_an_emoji_in_text_and_arguments_survives() -> None:
    answer = await answer_to(
        Reply([events(chunk(text("\udcaf!"), call("q", s="\ud83d"), finish="STOP"))]), tools=["q"]
    )

    assert answer.parts == [Text("\udcaf!"), RawCall("q", {"s": "\ud83d"})]
