"""What an answer of Gemini's becomes: text, thoughts, calls, why it ended and what it used."""

from __future__ import annotations

from typing import Any

import pytest

from remit.models.assemble import RawCall
from remit.models.request import Chunk, ReasoningChunk, StopChunk, TextChunk
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage
from tests.loopback import Reply, loopback, plain
from tests.unit.models.asking import text_of, usages
from tests.unit.models.gemini.asking import (
    answer_to,
    call,
    chunk,
    chunks_of,
    events,
    into,
    model,
    stream,
    text,
    used,
)

pytestmark = pytest.mark.slow


async def test_text_streams_in_its_pieces() -> None:
    reply = stream(chunk(text("Hel")), chunk(text("lo")), chunk(text(""), finish="STOP"))
    async with loopback(reply) as server:
        chunks = await chunks_of(model(server))

    assert chunks[:2] == [TextChunk("Hel"), TextChunk("lo")]
    assert chunks[-1] == StopChunk("end")


async def test_thoughts_are_reasoning_and_a_signature_stays_with_its_part() -> None:
    answer = await answer_to(
        stream(
            chunk(text("First ", thought=True)),
            chunk(text("this.", thought=True, thoughtSignature="YQ==")),
            chunk(text("Done")),
            chunk(text("", thoughtSignature="Yg=="), finish="STOP"),
        )
    )

    assert answer.parts == [
        Reasoning("First this.", "YQ=="),
        Text("Done"),
        Reasoning("", "Yg==", form="text"),
    ]


async def test_text_behind_signed_text_is_a_part_of_its_own() -> None:
    answer = await answer_to(
        stream(
            chunk(text("One.", thoughtSignature="YQ==")),
            chunk(text("Two.", thoughtSignature="Yg=="), finish="STOP"),
        )
    )

    assert answer.parts == [
        Text("One."),
        Reasoning("", "YQ==", form="text"),
        Text("Two."),
        Reasoning("", "Yg==", form="text"),
    ]


async def test_several_calls_of_a_chunk_are_several_and_the_first_is_signed() -> None:
    parts = [call(number=1, signature="YQ=="), call(number=2), call("look")]

    answer = await answer_to(stream(chunk(*parts, finish="STOP")), tools=["find_order", "look"])

    assert answer.parts == [
        RawCall("find_order", {"number": 1}, None, "YQ=="),
        RawCall("find_order", {"number": 2}),
        RawCall("look", {}),
    ]
    assert answer.stop == "calls"


@pytest.mark.parametrize("id", [None, "", "same"])
async def test_ids_of_calls_part_nothing_and_join_nothing(id: str | None) -> None:
    parts = [call(number=1), call(number=1)]
    for part in parts:
        part["functionCall"] |= {} if id is None else {"id": id}

    answer = await answer_to(stream(chunk(parts[0]), chunk(parts[1], finish="STOP")))

    assert answer.parts == [RawCall("find_order", {"number": 1})] * 2


@pytest.mark.parametrize("args", [None, {}, "", "absent"])
async def test_a_call_without_arguments_has_none(args: Any) -> None:
    part = call("now")
    part["functionCall"]["args"] = args
    if args == "absent":
        del part["functionCall"]["args"]

    answer = await answer_to(stream(chunk(part, finish="STOP")), tools=["now"])

    assert answer.parts == [RawCall("now", {})]


@pytest.mark.parametrize(
    ("wrote", "tool"),
    [
        ("default_api.find_order", "find_order"),
        ("default_api:find_order", "find_order"),
        ("_3d", "3d"),
        ("-x", "-x"),
        ("_-x", "-x"),
        ("default_api.other", "default_api.other"),
    ],
)
async def test_a_name_that_gemini_dressed_up_is_the_tools_own(wrote: str, tool: str) -> None:
    answer = await answer_to(
        stream(chunk(call(wrote), finish="STOP")), tools=["find_order", "3d", "-x"]
    )

    assert [part.name for part in answer.parts if isinstance(part, RawCall)] == [tool]


@pytest.mark.parametrize("args", [[1], 7, "no json", {"x": 1e999}])
async def test_arguments_that_are_no_object_are_told_as_malformed(args: Any) -> None:
    part = call()
    part["functionCall"]["args"] = args
    body = events(chunk(part, finish="STOP")).replace(b"Infinity", b"1e999")

    [found] = (await answer_to(Reply([body]), tools=["find_order"])).parts

    assert isinstance(found, RawCall)
    assert found.malformed


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("SPII", "refusal"),
        ("BLOCKLIST", "refusal"),
        ("OTHER", "end"),
        ("A_REASON_OF_LATER", "end"),
    ],
)
async def test_why_it_stopped_is_told(reason: str, stop: str) -> None:
    answer = await answer_to(stream(chunk(text("So far"), finish=reason)))

    assert (answer.parts, answer.stop) == ([Text("So far")], stop)


@pytest.mark.parametrize("reason", ["STOP", "OTHER", "FINISH_REASON_UNSPECIFIED"])
async def test_calls_are_calls_whatever_it_stopped_for(reason: str) -> None:
    answer = await answer_to(stream(chunk(text("Let me see"), call(), finish=reason)))

    assert answer.stop == "calls"
    assert len(answer.parts) == 2


async def test_a_blocked_prompt_is_a_refusal_that_costs_its_input() -> None:
    told = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": used(500)}

    answer = await answer_to(stream(told))

    assert (answer.parts, answer.stop) == ([], "refusal")
    assert answer.usage == Usage(input_tokens=500)


@pytest.mark.parametrize("empty", [{}, {"role": "model"}, {"parts": []}, None])
async def test_an_answer_cut_by_its_cap_while_it_thought_is_empty(empty: Any) -> None:
    candidate = {"content": empty, "finishReason": "MAX_TOKENS", "index": 0}

    answer = await answer_to(stream({"candidates": [candidate], "usageMetadata": used(15, 0, 2)}))

    assert (answer.parts, answer.stop) == ([], "length")
    assert answer.usage == Usage(input_tokens=15, output_tokens=2, reasoning_tokens=2)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Malformed function call: print(default_api.find_order(number='A-1'))", "find_order"),
        ("Unexpected tool call: drop_all(x=1)", "drop_all"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
async def test_a_call_that_gemini_could_not_read_is_one_that_cannot_be_read(
    reason: str, words: str | None, name: str
) -> None:
    last = chunk(finish=reason)
    if words is not None:
        last["candidates"][0]["finishMessage"] = words

    answer = await answer_to(stream(chunk(text("So: ")), last), tools=["find_order", "order"])

    said, found = answer.parts
    assert said == Text("So: ")
    assert isinstance(found, RawCall)
    assert found.name == name
    assert found.malformed == (words or f"({reason})")
    assert answer.stop == "calls"


@pytest.mark.parametrize("reason", ["OTHER", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE"])
async def test_an_end_with_nothing_to_show_is_an_error_that_names_it(reason: str) -> None:
    last = chunk(finish=reason, usageMetadata=used(9, 0, 4))
    seen: list[Chunk] = []
    async with loopback(stream(last)) as server:
        with pytest.raises(ProviderError) as caught:
            await into(seen, model(server))

    assert (caught.value.status, caught.value.code) == (200, reason)
    assert usages(seen) == [Usage(input_tokens=9, output_tokens=4, reasoning_tokens=4)]


async def test_a_chunk_without_candidates_is_no_end() -> None:
    answer = await answer_to(
        stream(
            {"usageMetadata": used(3)},
            {"candidates": []},
            {"candidates": None},
            chunk(text("Hi")),
            chunk(finish="STOP", usageMetadata=used(3, 1)),
        )
    )

    assert answer.parts == [Text("Hi")]
    assert answer.usage == Usage(input_tokens=3, output_tokens=1)


async def test_what_is_not_known_is_passed_over() -> None:
    odd = {"executableCode": {"code": "1"}, "thoughtSignature": "YQ=="}
    other = chunk(text("Other"))["candidates"][0] | {"index": 1}
    first = chunk(odd, text("Hi", partMetadata={}), grounding={"x": 1})
    first["candidates"].append(other)

    answer = await answer_to(stream(first, [], "x", chunk("y", finish="STOP")))  # type: ignore[arg-type]

    assert answer.parts == [Text("Hi")]


async def test_usage_is_that_of_the_last_report_to_the_token() -> None:
    last = used(300, 20, 100, cachedContentTokenCount=200, toolUsePromptTokenCount=5)
    reply = stream(
        chunk(text("a"), usageMetadata=used(55, 4)),
        chunk(text("b"), finish="STOP", usageMetadata=last),
    )
    async with loopback(reply) as server:
        chunks = await chunks_of(model(server))

    assert usages(chunks)[-1] == Usage(
        input_tokens=305, cache_read_tokens=200, output_tokens=120, reasoning_tokens=100
    )


async def test_a_count_that_is_told_once_is_not_forgotten() -> None:
    answer = await answer_to(
        stream(
            chunk(text("a"), usageMetadata=used(55, 1, 202)),
            chunk(finish="STOP", usageMetadata={"candidatesTokenCount": 8}),
        )
    )

    assert answer.usage is not None
    assert (answer.usage.output_tokens, answer.usage.reasoning_tokens) == (210, 202)


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        (
            {"promptTokenCount": 10, "cachedContentTokenCount": 12, "totalTokenCount": 10},
            Usage(input_tokens=10, cache_read_tokens=10, output_tokens=1, estimated=True),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": -3},
            Usage(input_tokens=10, output_tokens=1, estimated=True),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 20},
            Usage(input_tokens=10, output_tokens=10, estimated=True),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 5},
            Usage(input_tokens=10, output_tokens=3, estimated=True),
        ),
        ({"promptTokenCount": True, "totalTokenCount": "x"}, None),
    ],
)
async def test_a_report_that_contradicts_itself_is_clamped_and_marked(
    report: Any, usage: Usage | None
) -> None:
    answer = await answer_to(stream(chunk(text("a"), finish="STOP", usageMetadata=report)))

    assert answer.usage is not None
    assert answer.usage.estimated
    assert usage in (None, answer.usage)


async def test_an_answer_without_a_report_is_estimated() -> None:
    answer = await answer_to(stream(chunk(text("a" * 300), finish="STOP")))

    assert answer.usage is not None
    assert answer.usage.estimated
    assert answer.usage.output_tokens == 100
    assert answer.usage.input_tokens > 10


ERROR = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
PRETTY = (
    b'{\r\n  "error": {\r\n    "code": 503,\r\n    "message": "The model is overloaded.",'
    b'\r\n    "status": "UNAVAILABLE"\r\n  }\r\n}\r\n'
)


@pytest.mark.parametrize("told", [events(ERROR), PRETTY, b"[" + PRETTY + b"]"])
@pytest.mark.parametrize("before", [b"", events(chunk(text("Hel")))])
async def test_an_error_in_a_stream_of_status_200_is_that_error(before: bytes, told: bytes) -> None:
    async with loopback(Reply([before + told])) as server:
        with pytest.raises(ProviderError) as caught:
            await chunks_of(model(server))

    error = caught.value
    assert (error.status, error.code) == (503, "UNAVAILABLE")
    assert error.message == "The model is overloaded."


async def test_a_server_that_knows_no_streams_is_understood() -> None:
    whole = [chunk(text("Hi ")), chunk(text("there"), finish="STOP", usageMetadata=used(3, 2))]

    for body in (whole, chunk(text("Hi there"), finish="STOP", usageMetadata=used(3, 2))):
        answer = await answer_to(plain(body))
        assert answer.parts == [Text("Hi there")]
        assert answer.usage == Usage(input_tokens=3, output_tokens=2)


async def test_what_is_no_answer_is_an_error() -> None:
    with pytest.raises(ProviderError, match="no answer of Gemini"):
        await answer_to(plain({"hello": "world"}))
    with pytest.raises(ProviderError, match="no JSON"):
        await answer_to(Reply([b"data: <html>\r\n\r\n"]))
    with pytest.raises(ConnectionFailedError, match="cut off"):
        await answer_to(Reply([]))


async def test_signatures_are_shown_as_no_text() -> None:
    reply = stream(chunk(text("Hi", thoughtSignature="YQ=="), finish="STOP"))
    async with loopback(reply) as server:
        chunks = await chunks_of(model(server))

    assert text_of(chunks) == "Hi"
    assert [each for each in chunks if isinstance(each, ReasoningChunk)] == [
        ReasoningChunk("", "YQ==", "text")
    ]
