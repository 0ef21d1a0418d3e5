"""Text, reasoning, usage and the end of an answer, wherever servers put them."""

from __future__ import annotations

from typing import Any

import pytest

from remit.models.request import Chunk, ReasoningChunk
from remit.values.content import Reasoning, Text
from remit.values.errors import ProviderError
from remit.values.usage import Usage
from tests.loopback import Reply, delta, events, loopback, plain, stream
from tests.unit.models.asking import (
    answer_to,
    asked,
    assembled,
    chunks_of,
    model,
    text_of,
    usage_of,
    usages,
)

USED = {"prompt_tokens": 43, "completion_tokens": 1368, "total_tokens": 1411}
USAGE = Usage(input_tokens=43, output_tokens=1368)
ROLE = delta(role="assistant", content="")
HI = [delta(content="Hel"), delta(content="lo")]
STOP = delta("stop")
EMPTY: dict[str, Any] = {"choices": []}

PLACES: dict[str, list[Any]] = {
    "in a last chunk without choices": [*HI, STOP, {"choices": [], "usage": USED}],
    "in a last chunk with a choice": [*HI, STOP, delta() | {"usage": USED}],
    "in a last chunk that has no choices at all": [*HI, STOP, {"usage": USED}],
    "with the finish": [*HI, STOP | {"usage": USED}],
    "before the text": [{"choices": [], "usage": USED}, *HI, STOP],
    "in every chunk": [chunk | {"usage": USED} for chunk in [ROLE, *HI, STOP]],
    "growing from chunk to chunk": [
        HI[0] | {"usage": {"prompt_tokens": 43, "completion_tokens": 1}},
        HI[1] | {"usage": {"prompt_tokens": 43, "completion_tokens": 2}},
        STOP | {"usage": USED},
    ],
    "null in every chunk but the last": [
        *(chunk | {"usage": None} for chunk in [*HI, STOP]),
        {"choices": [], "usage": USED},
    ],
    "followed by zeros": [
        *HI,
        STOP | {"usage": USED},
        {"choices": [], "usage": dict.fromkeys(USED, 0)},
    ],
    "beside the choice": [*HI, {"choices": [STOP["choices"][0] | {"usage": USED}]}],
    "in a field of the vendor's": [*HI, STOP | {"x_groq": {"id": "r", "usage": USED}}],
    "after an empty first chunk": [EMPTY, *HI, STOP, EMPTY | {"usage": USED}],
}


@pytest.mark.parametrize("chunks", PLACES.values(), ids=PLACES.keys())
async def test_usage_counts_wherever_it_stands(chunks: list[Any]) -> None:
    answer = await answer_to(stream(*chunks))

    assert answer.parts == [Text("Hello")]
    assert answer.usage == USAGE
    assert answer.stop == "end"


async def test_usage_that_is_never_reported_is_estimated_and_says_so() -> None:
    usage = usage_of(await answer_to(stream(delta(content="x" * 300), STOP)))

    assert usage.estimated
    assert usage.output_tokens == 100
    assert usage.input_tokens > 10


async def test_usage_is_told_as_soon_as_it_is_known() -> None:
    async with loopback(stream(*PLACES["growing from chunk to chunk"])) as server:
        told = usages(await chunks_of(model(server)))

    assert [usage.output_tokens for usage in told] == [1, 2, 1368]


async def test_text_comes_in_the_pieces_in_which_it_was_sent() -> None:
    async with loopback(stream(ROLE, *HI, STOP)) as server:
        chunks = await chunks_of(model(server))

    assert [text_of([chunk]) for chunk in chunks][:2] == ["Hel", "lo"]


FINISHES = {
    "stop": "end",
    "end_turn": "end",
    "tool_calls": "end",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    None: "end",
}


@pytest.mark.parametrize(("finish", "stop"), FINISHES.items())
async def test_why_a_model_stopped_is_told_in_our_words(finish: str | None, stop: str) -> None:
    assert (await answer_to(stream(*HI, delta(finish)))).stop == stop


async def test_a_finish_is_not_lost_to_a_later_chunk_without_one() -> None:
    answer = await answer_to(stream(*HI, delta("length"), delta(content="")))

    assert answer.stop == "length"


async def test_a_refusal_is_told_and_is_a_refusal() -> None:
    answer = await answer_to(stream(delta(refusal="I can"), delta(refusal="not."), STOP))

    assert answer.parts == [Text("I cannot.")]
    assert answer.stop == "refusal"


async def test_a_refusal_without_a_word_is_a_refusal() -> None:
    answer = await answer_to(stream(ROLE, delta("content_filter", refusal=None)))

    assert (answer.parts, answer.stop) == ([], "refusal")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_no_text(field: str) -> None:
    thought = [delta(**{field: "Let me", "content": None}), delta(**{field: " think"})]

    answer = await answer_to(stream(*thought, *HI, STOP))

    assert answer.parts == [Reasoning("Let me think", field), Text("Hello")]


async def test_reasoning_in_two_fields_at_once_is_told_once() -> None:
    thought = delta(reasoning_content="Hm", reasoning="Hm")

    assert (await answer_to(stream(thought, STOP))).parts == [Reasoning("Hm", "reasoning_content")]


async def test_reasoning_details_are_kept_whole() -> None:
    pieces: list[dict[str, Any]] = [
        {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": ""},
        {"type": "reasoning.text", "index": 0, "text": " think", "format": "f-1"},
        {"type": "reasoning.text", "index": 0, "signature": "c2ln", "format": "f-1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "AAA"},
    ]
    thought = [delta(reasoning_details=[piece]) for piece in pieces]

    async with loopback(stream(*thought, *HI, STOP)) as server:
        chunks = await chunks_of(model(server))

    [kept] = [chunk.signature for chunk in chunks if isinstance(chunk, ReasoningChunk)]
    assert kept == (
        '[{"type": "reasoning.text", "index": 0, "text": "Let me think", "signature": "c2ln",'
        ' "format": "f-1"}, {"type": "reasoning.encrypted", "index": 1, "data": "AAA"}]'
    )


async def test_content_in_parts_is_text_and_reasoning() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Hello"},
        {"type": "reference", "reference_ids": [1]},
    ]

    answer = await answer_to(stream(delta(content=parts), STOP))

    assert answer.parts == [Reasoning("Hm.", "thinking"), Text("Hello")]


async def test_what_is_unknown_is_passed_over() -> None:
    odd: list[Any] = [
        {"object": "ping"},
        [],
        "7",
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None, "index": 0}]},
        delta(audio={"id": 1}, content=7) | {"obfuscation": "abc", "service_tier": None},
        {"choices": [{"index": 1, "delta": {"content": "another answer"}}]},
    ]

    answer = await answer_to(stream(ROLE, *odd, *HI, STOP))

    assert answer.parts == [Text("Hello")]


async def test_an_answer_that_does_not_stream_is_an_answer() -> None:
    message = {
        "role": "assistant",
        "content": "Hello",
        "reasoning_content": "Hm",
        "tool_calls": None,
    }
    whole = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USED}

    answer = await answer_to(plain(whole))

    assert answer.parts == [Reasoning("Hm", "reasoning_content"), Text("Hello")]
    assert (answer.usage, answer.stop) == (USAGE, "end")


async def test_a_message_repeated_at_the_end_of_a_stream_is_not_told_twice() -> None:
    last = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Hello"}}]}

    assert (await answer_to(stream(*HI, last))).parts == [Text("Hello")]


ERRORS: dict[str, tuple[dict[str, Any], int, str | None, str]] = {
    "with a number": ({"error": {"code": 429, "message": "Slow down"}}, 429, None, "Slow down"),
    "with a word": (
        {"error": {"code": "server_error", "message": "Oh", "type": "t"}},
        200,
        "server_error",
        "Oh",
    ),
    "with a status": ({"error": {"status_code": 503, "message": "Oh"}}, 503, None, "Oh"),
    "of text": ({"error": "overloaded"}, 200, None, "overloaded"),
    "with choices beside it": (delta(content="") | {"error": {"message": "Oh"}}, 200, None, "Oh"),
    "in the choice": (
        {"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "Oh"}}]},
        502,
        None,
        "Oh",
    ),
    "that is the chunk": (
        {"object": "error", "message": "Oh", "type": "BadRequestError", "code": 400},
        400,
        "BadRequestError",
        "Oh",
    ),
    "that is only a finish": (delta("error"), 200, None, "it stopped with an error"),
}


@pytest.mark.parametrize(("chunk", "status", "code", "words"), ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize("before", [[], HI], ids=["at once", "after some text"])
async def test_an_error_inside_of_a_stream_is_an_error(
    before: list[Any], chunk: dict[str, Any], status: int, code: str | None, words: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await answer_to(stream(*before, chunk))

    error = caught.value
    assert (error.status, error.code, error.message) == (status, code, words)


async def test_an_error_is_told_although_nothing_follows_it() -> None:
    error = events({"error": {"message": "Oh"}}, done=False)
    reply = Reply([events(*HI, done=False), error], ending="hang")

    with pytest.raises(ProviderError, match="Oh"):
        await answer_to(reply)


async def test_usage_is_told_before_the_error_that_came_with_it() -> None:
    told: list[Chunk] = []

    async def listen() -> None:
        async for chunk in model(server).stream(asked()):
            told.append(chunk)

    async with loopback(stream(*HI, {"error": {"message": "Oh"}, "usage": USED})) as server:
        with pytest.raises(ProviderError):
            await listen()

    assert usages(told) == [USAGE]


async def test_an_error_that_comes_as_an_answer_is_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        await answer_to(plain({"error": {"code": 502, "message": "Oh"}}))

    assert (caught.value.status, caught.value.message) == (502, "Oh")


@pytest.mark.parametrize("body", [{}, {"ok": True}, [], {"detail": "Not here"}])
async def test_json_that_is_no_answer_is_an_error(body: Any) -> None:
    with pytest.raises(ProviderError, match="no answer"):
        await answer_to(plain(body))


async def test_a_page_instead_of_an_answer_is_an_error() -> None:
    page = Reply([b"<html><body>Sign in</body></html>"], headers={"content-type": "text/html"})

    with pytest.raises(ProviderError, match="no answer"):
        await answer_to(page)


async def test_a_piece_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ProviderError, match="no JSON"):
        await answer_to(stream(*HI, "{broken"))


async def test_one_connection_serves_one_call_after_another() -> None:
    async with loopback(*[stream(*HI, STOP)] * 3) as server:
        asking = model(server)
        for _ in range(3):
            await assembled(asking)

    assert server.connections == 1
