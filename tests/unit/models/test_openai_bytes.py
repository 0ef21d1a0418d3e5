"""However the network cuts an answer, it is the same answer, or an error, and never a hang."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.models.assemble import RawCall
from remit.models.wire.events import Events, Unreadable, read_json
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError, ProviderError
from tests.loopback import Reply, delta, events
from tests.unit.models.asking import answer_to

pytestmark = pytest.mark.slow

TEXT = "你好👩‍🚀 a\u2028b\u0085c\x1cd"
CALL = {"index": 0, "id": "t1", "type": "function"}
PIECES = ['{"q":"n', 'é"}']
CHUNKS: list[Any] = [
    delta(role="assistant", content="", reasoning_content="né"),
    delta(content=TEXT),
    delta(tool_calls=[CALL | {"function": {"name": "find_order", "arguments": PIECES[0]}}]),
    delta(tool_calls=[{"index": 0, "function": {"arguments": PIECES[1]}}]),
    delta("tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}},
]
PARTS = [
    Reasoning("né", "reasoning_content"),
    Text(TEXT),
    RawCall("find_order", {"q": "né"}),
]


def body(newline: str = "\n", space: str = " ") -> bytes:
    """The answer with its characters as they are, and with comments in between."""
    lines = ["\ufeff: hello", "event: message", "id: 1"]
    for chunk in CHUNKS:
        lines += [f"data:{space}{json.dumps(chunk, ensure_ascii=False)}", "", ": still here", ""]
    return newline.join([*lines, f"data:{space}[DONE]", "", ""]).encode()


def cut(whole: bytes, places: set[int]) -> list[bytes]:
    ends = sorted({0, len(whole)} | {place for place in places if place < len(whole)})
    return [whole[one:other] for one, other in pairwise(ends)]


def data_of(pieces: list[bytes]) -> list[bytes]:
    source = Events()
    found = [data for piece in pieces for data in source.feed(piece)]
    return [*found, *source.close()]


ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(
    places=st.sets(st.integers(1, len(body()) + 80)), newline=ENDS, space=st.sampled_from(["", " "])
)
def test_events_are_the_same_wherever_the_bytes_are_cut(
    places: set[int], newline: str, space: str
) -> None:
    found = data_of(cut(body(newline, space), places))

    assert [json.loads(data) for data in found[:-1]] == CHUNKS
    assert found[-1] == b"[DONE]"


@settings(max_examples=15, deadline=None)
@given(places=st.sets(st.integers(1, len(body())), max_size=40), newline=ENDS)
def test_an_answer_is_the_same_wherever_the_network_cuts_it(places: set[int], newline: str) -> None:
    reply = Reply(cut(body(newline), places))

    answer = asyncio.run(answer_to(reply, tools=["find_order"]))

    assert answer.parts == PARTS


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_an_answer_is_the_same_one_byte_at_a_time(newline: str) -> None:
    whole = body(newline)

    answer = await answer_to(Reply(cut(whole, set(range(len(whole))))), tools=["find_order"])

    assert answer.parts == PARTS
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (9, 5)


FINISHED = 5
"""How many of the chunks lead up to the finish."""


@pytest.mark.parametrize("ending", ["cut", "end", "close"])
@pytest.mark.parametrize("count", range(FINISHED))
async def test_an_answer_cut_before_its_end_is_an_error(count: int, ending: Any) -> None:
    sent = [events(chunk, done=False) for chunk in CHUNKS[:count]]

    with pytest.raises(ConnectionFailedError):
        await answer_to(Reply(sent, ending=ending), tools=["find_order"])


@pytest.mark.slow
@pytest.mark.parametrize("count", range(FINISHED))
async def test_an_answer_that_falls_silent_before_its_end_is_an_error(count: int) -> None:
    sent = [events(chunk, done=False) for chunk in CHUNKS[:count]]

    with pytest.raises(ConnectionFailedError, match=r"in 0\.2 seconds|for 0\.2 seconds"):
        await answer_to(Reply(sent, ending="hang"), tools=["find_order"], timeout=0.2)


@pytest.mark.parametrize("ending", ["cut", "end", "close", "hang"])
@pytest.mark.parametrize("count", range(FINISHED, len(CHUNKS) + 1))
async def test_an_answer_that_has_said_why_it_stopped_is_whole(count: int, ending: Any) -> None:
    sent = [events(chunk, done=False) for chunk in CHUNKS[:count]]

    answer = await answer_to(Reply(sent, ending=ending), tools=["find_order"], timeout=0.2)

    assert answer.parts == PARTS
    assert answer.usage is not None
    assert answer.usage.estimated is (count == FINISHED)


async def test_an_answer_cut_inside_of_a_character_is_an_error() -> None:
    whole = (
        events(*CHUNKS[:1], done=False) + json.dumps(CHUNKS[1], ensure_ascii=False).encode()[:60]
    )

    with pytest.raises(ConnectionFailedError):
        await answer_to(Reply([whole], ending="cut"))


async def test_a_stream_that_says_it_is_done_before_it_began_is_an_error() -> None:
    with pytest.raises(ProviderError, match="no answer"):
        await answer_to(Reply([events()]))


async def test_nothing_at_all_is_an_error() -> None:
    with pytest.raises(ConnectionFailedError, match="cut off"):
        await answer_to(Reply([]))


def test_blank_lines_may_be_left_out() -> None:
    assert data_of([b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n']) == [
        b'{"a":1}',
        b'{"b":2}',
        b"[DONE]",
    ]


def test_one_value_may_take_several_lines() -> None:
    assert data_of([b'data: {"a":\ndata: 1}\n\n']) == [b'{"a":\n1}']


def test_a_line_end_cut_in_two_is_one() -> None:
    assert data_of([b'data: {"a":\r', b"\ndata: 1}\r", b"\n\r", b"\n"]) == [b'{"a":\n1}']


def test_a_mark_at_the_beginning_is_no_data() -> None:
    assert data_of([b'\xef\xbb\xbfdata: {"a":1}\n\n']) == [b'{"a":1}']


def test_a_line_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.models.wire.events.MOST_BYTES", 100)

    with pytest.raises(Unreadable, match="more than 100 bytes"):
        data_of([b"x" * 60, b"x" * 60])


def test_an_event_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.models.wire.events.MOST_BYTES", 100)

    assert data_of([b"data: " + b"x" * 60 + b"\n\n"] * 3) == [b"x" * 60] * 3
    with pytest.raises(Unreadable, match="more than 100 bytes"):
        data_of([b"data: " + b"x" * 60 + b"\n"] * 2)


async def test_one_value_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.models.wire.exchange.MOST_BYTES", 100_000)

    with pytest.raises(ProviderError, match="more than 100000 bytes"):
        await answer_to(Reply([b'{"a":"', b"x" * 10_000], ending="repeat"))


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":"\\ud83d"}', {"a": "\ud83d"}),
        (b'{"a":"\xed\xa0\xbd"}', {"a": "\ud83d"}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":1e999}', {"a": float("inf")}),
    ],
)
def test_what_others_would_refuse_is_read(data: bytes, value: object) -> None:
    assert read_json(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_json(data)


async def test_half_an_emoji_in_text_and_arguments_survives() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "q", "arguments": '{"s":"\\ud83d"}'}}

    answer = await answer_to(
        Reply([events(delta(content="\udcaf!"), delta("tool_calls", tool_calls=[call]))]),
        tools=["q"],
    )

    assert answer.parts == [Text("\udcaf!"), RawCall("q", {"s": "\ud83d"})]


async def test_an_emoji_in_two_deltas_becomes_whole() -> None:
    halves = [delta(content="hi \ud83d"), delta(content="\ude80"), delta("stop")]

    assert (await answer_to(Reply([events(*halves)]))).parts == [Text("hi 🚀")]
