"""Text, reasoning, calls, usage and the end of an answer of Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.models.assemble import RawCall
from remit.models.request import ReasoningChunk
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage
from tests.loopback import Reply, events, loopback, plain
from tests.unit.models.asking import asked, text_of, tool, usage_of, usages
from tests.unit.models.responses import (
    USAGE,
    Event,
    added,
    answer_to,
    assembled,
    call,
    chunks_of,
    done,
    ended,
    event,
    message,
    model,
    stream,
    thought,
)

pytestmark = pytest.mark.slow

SPENT = Usage(
    input_tokens=9, cache_read_tokens=4, cache_write_tokens=2, output_tokens=5, reasoning_tokens=3
)
HI = [event("output_text.delta", delta=piece, content_index=0) for piece in ("Hel", "lo")]
ASKS = event("function_call_arguments.delta", delta='{"n":')
AND = event("function_call_arguments.delta", delta="1}")

TEXTS: dict[str, list[Event]] = {
    "in pieces": [added(message()), *HI, done(message("Hello"))],
    "in pieces that nobody began": HI,
    "in pieces and in their end": [*HI, event("output_text.done", text="Hello")],
    "in the end of its pieces alone": [added(message()), event("output_text.done", text="Hello")],
    "in the whole item alone": [added(message()), done(message("Hello"))],
    "in an item that nobody began": [done(message("Hello"))],
    "with its last piece in the whole item": [added(message()), HI[0], done(message("Hello"))],
    "beside parts that are not known": [
        {"type": "keepalive"},
        event("content_part.added", part={"type": "output_text", "text": ""}),
        event("output_text.annotation.added", annotation={"type": "url_citation"}),
        added(message()),
        *HI,
        event("output_text.delta", delta=""),
        event("output_text.delta", delta={"obfuscation": "x"}),
        event("a.future.event", delta="?"),
    ],
}


@pytest.mark.parametrize("sent", TEXTS.values(), ids=TEXTS.keys())
async def test_text_is_told_once_wherever_it_stands(sent: list[Event]) -> None:
    answer = await answer_to(stream(*sent, ended()))

    assert answer.parts == [Text("Hello")]
    assert answer.stop == "end"
    assert usage_of(answer) == SPENT


CALLS: dict[str, list[Event]] = {
    "in pieces": [added(call("")), ASKS, AND, done(call('{"n":1}'))],
    "in pieces and their end": [
        added(call("")),
        ASKS,
        AND,
        event("function_call_arguments.done", arguments='{"n":1}'),
        done(call('{"n":1}')),
    ],
    "without the whole item": [added(call("")), ASKS, AND],
    "whole in the end of its pieces": [
        added(call("")),
        event("function_call_arguments.done", arguments='{"n":1}'),
    ],
    "whole in the item": [added(call("")), done(call('{"n":1}'))],
    "whole from the beginning": [added(call('{"n":1}')), done(call('{"n":1}'))],
    "in an item that nobody began": [done(call('{"n":1}'))],
    "otherwise in the whole item than in its pieces": [
        added(call("")),
        ASKS,
        done(call('{ "n": 1 }')),
    ],
    "as an object": [added(call(None)), done(call({"n": 1}))],
    "twice": [added(call("")), done(call('{"n":1}')), done(call('{"n":1}'))],
    "with what a template left on its name": [
        done(call('{"n":1}', name="find_order<|channel|>commentary"))
    ],
}


@pytest.mark.parametrize("sent", CALLS.values(), ids=CALLS.keys())
async def test_a_call_is_told_once_wherever_it_stands(sent: list[Event]) -> None:
    answer = await answer_to(stream(*sent, ended()), tools=["find_order"])

    assert answer.parts == [RawCall("find_order", {"n": 1}, None, "fc_1")]
    assert answer.stop == "calls"


@pytest.mark.parametrize("arguments", ["", "{}", None])
async def test_a_call_without_arguments_has_none(arguments: Any) -> None:
    answer = await answer_to(stream(added(call(arguments)), done(call(arguments)), ended()))

    assert answer.parts == [RawCall("find_order", {}, None, "fc_1")]


@pytest.mark.parametrize("places", [(0, 1), (0, 0), (None, None)])
@pytest.mark.parametrize("ids", [("fc_1", "fc_2"), ("", ""), (None, None)])
async def test_calls_side_by_side_keep_their_arguments(places: Any, ids: Any) -> None:
    sent: list[Event] = []
    for number in (0, 1):
        at, id = places[number], ids[number]
        piece = event("function_call_arguments.delta", at, delta=f'{{"n":{number}}}')
        sent += [added(call("", id=id), at), piece, done(call(f'{{"n":{number}}}', id=id), at)]

    answer = await answer_to(stream(*sent, ended()))

    assert [(part.name, part.arguments) for part in answer.parts if isinstance(part, RawCall)] == [
        ("find_order", {"n": 0}),
        ("find_order", {"n": 1}),
    ]


async def test_pieces_of_two_calls_may_come_in_turns() -> None:
    sent = [added(call("", id="fc_1"), 0), added(call("", name="b", id="fc_2"), 1)]
    for at in (0, 1, 0, 1):
        piece = '{"n":' if len(sent) < 4 else f"{at}}}"
        sent.append(event("function_call_arguments.delta", at, delta=piece))

    answer = await answer_to(stream(*sent, ended()))

    assert answer.parts == [
        RawCall("find_order", {"n": 0}, None, "fc_1"),
        RawCall("b", {"n": 1}, None, "fc_2"),
    ]


THOUGHT = thought(text="Hm.")
THOUGHTS: dict[str, list[Event]] = {
    "in pieces": [
        added(thought(encrypted_content="unfinished")),
        event("reasoning_summary_text.delta", delta="H", summary_index=0),
        event("reasoning_summary_text.delta", delta="m.", summary_index=0),
        event("reasoning_summary_text.done", text="Hm.", summary_index=0),
        done(THOUGHT),
    ],
    "in the whole item": [added(thought()), done(THOUGHT)],
}


@pytest.mark.parametrize("sent", THOUGHTS.values(), ids=THOUGHTS.keys())
async def test_reasoning_is_told_and_kept_whole(sent: list[Event]) -> None:
    answer = await answer_to(stream(*sent, done(call(), 1), ended()))

    [reasoning, _] = answer.parts
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "Hm."
    assert json.loads(reasoning.signature or "") == THOUGHT


async def test_parts_of_a_summary_are_paragraphs() -> None:
    sent = [
        event("reasoning_summary_text.delta", delta=piece, summary_index=number)
        for number, piece in ((0, "One"), (0, "."), (1, "Two"), (1, "."))
    ]
    async with loopback(stream(added(thought()), *sent, done(thought()), ended())) as server:
        chunks = await chunks_of(model(server))

    shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningChunk))
    assert shown == "One.\n\nTwo."


async def test_reasoning_that_is_told_openly_is_kept_without_what_servers_refuse() -> None:
    told = [{"type": "reasoning_text", "text": "Hm."}]
    open_ = {"type": "reasoning", "id": "rs_1", "summary": None, "content": told}
    open_["status"] = "completed"
    said = event("reasoning_text.delta", delta="Hm.", content_index=0)

    answer = await answer_to(stream(added(thought()), said, done(open_), done(call(), 1), ended()))

    [reasoning, _] = answer.parts
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "Hm."
    kept = {"type": "reasoning", "id": "rs_1", "content": told, "summary": []}
    assert json.loads(reasoning.signature or "") == kept


async def test_two_messages_of_an_answer_are_paragraphs() -> None:
    first = message("One moment.", phase="commentary")
    second = message("Done.", id="msg_2", phase="final_answer")
    async with loopback(stream(done(first), done(second, 1), ended())) as server:
        chunks = await chunks_of(model(server))

    assert text_of(chunks) == "One moment.\n\nDone."


@pytest.mark.parametrize(
    "kind",
    [
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "mcp_call",
        "image_generation_call",
        "a_future_item",
    ],
)
async def test_what_the_server_runs_itself_is_passed_over(kind: str) -> None:
    item = {"type": kind, "id": "x_1", "status": "completed", "result": "x"}
    sent = [
        done(thought(text="Hm.")),
        added(item, 1),
        event(f"{kind}.in_progress", 1, item_id="x_1"),
        event(f"{kind}.failed", 1, error={"message": "no such page"}),
        done(item, 1),
        done(message("Hello"), 2),
        ended(),
    ]

    answer = await answer_to(stream(*sent))

    assert [part for part in answer.parts if isinstance(part, Text)] == [Text("Hello")]
    assert answer.stop == "end"


REFUSED = [
    [event("refusal.delta", delta="I can"), event("refusal.delta", delta="not.")],
    [event("refusal.done", refusal="I cannot.")],
    [done({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]})],
]


@pytest.mark.parametrize("sent", REFUSED)
async def test_a_refusal_is_told_as_one(sent: list[Event]) -> None:
    answer = await answer_to(stream(*sent, ended()))

    assert answer.parts == [Text("I cannot.")]
    assert answer.stop == "refusal"
    assert usage_of(answer) == SPENT


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("max_output_tokens", "length"), ("content_filter", "refusal"), ("max_messages", "length")],
)
async def test_an_answer_that_is_not_whole_says_why(reason: str, stop: str) -> None:
    end = ended("incomplete", incomplete_details={"reason": reason})

    answer = await answer_to(stream(*HI, end))

    assert (answer.parts, answer.stop) == ([Text("Hello")], stop)


async def test_a_call_that_is_cut_off_by_the_limit_cannot_be_read() -> None:
    end = ended("incomplete", incomplete_details={"reason": "max_output_tokens"})

    answer = await answer_to(stream(added(call("")), ASKS, end))

    assert answer.parts == [RawCall("find_order", {}, '{"n":', "fc_1")]
    assert answer.stop == "length"


FAILURES: dict[str, tuple[Event, str | None]] = {
    "a failed answer": (
        ended("failed", error={"code": "server_error", "message": "Oh no"}),
        "server_error",
    ),
    "an error": ({"type": "error", "code": "rate_limit_exceeded", "message": "Oh no"}, "rate_"),
    "an error of an answer": ({"type": "response.error", "message": "Oh no"}, None),
    "an error in an error": (
        {"type": "error", "error": {"type": "overloaded", "message": "Oh no"}},
        "overloaded",
    ),
    "an error without a type": ({"error": {"message": "Oh no"}}, None),
}


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(("failure", "code"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_failure_in_a_stream_is_told_as_one_that_may_have_cost(
    failure: Event, code: str | None, begun: bool
) -> None:
    with pytest.raises(ProviderError, match="Oh no") as caught:
        await answer_to(stream(*(HI if begun else []), failure))

    error = caught.value
    assert error.status == 200
    assert error.code is None if code is None else (error.code or "").startswith(code)
    assert error.may_cost is (begun or code != "rate_")


async def test_a_failed_answer_without_words_is_a_failure() -> None:
    with pytest.raises(ProviderError, match="was cancelled"):
        await answer_to(stream(*HI, ended("cancelled")))


async def test_a_server_that_reports_no_usage_is_estimated() -> None:
    answer = await answer_to(stream(*HI, ended(usage=None)))

    usage = usage_of(answer)
    assert usage.estimated
    assert usage.output_tokens == 2
    assert usage.input_tokens > 10


async def test_cached_tokens_beyond_the_input_are_clamped_and_flagged() -> None:
    odd = USAGE | {"input_tokens_details": {"cached_tokens": 50}}

    usage = usage_of(await answer_to(stream(*HI, ended(usage=odd))))

    assert (usage.input_tokens, usage.cache_read_tokens, usage.estimated) == (9, 9, True)


async def test_what_is_cached_for_long_is_told_apart() -> None:
    kept = {"ttl_30m_tokens": 1, "ttl_12h_tokens": 3}
    told = {"cached_tokens": 2, "cache_write_tokens": 4, "cache_write_tokens_details": kept}

    usage = usage_of(
        await answer_to(stream(*HI, ended(usage=USAGE | {"input_tokens_details": told})))
    )

    assert (usage.cache_write_tokens, usage.cache_write_long_tokens) == (4, 3)
    assert not usage.estimated


async def test_the_usage_is_told_once() -> None:
    early = {"type": "response.in_progress", "response": {"status": "in_progress", "usage": None}}
    async with loopback(stream(early, *HI, ended())) as server:
        chunks = await chunks_of(model(server))

    assert usages(chunks) == [SPENT]


WHOLE = {
    "object": "response",
    "status": "completed",
    "output": [thought(text="Hm."), message("Hello"), call('{"n":1}')],
    "usage": USAGE,
}


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_may_come_as_one_object(streamed: bool) -> None:
    reply = stream({"type": "response.completed", "response": WHOLE}) if streamed else plain(WHOLE)

    answer = await answer_to(reply, tools=["find_order"])

    [reasoning, mark, text, asks] = answer.parts
    assert isinstance(reasoning, Reasoning)
    assert isinstance(mark, Reasoning)
    assert (reasoning.text, mark.text) == ("Hm.", "")
    assert text == Text("Hello")
    assert asks == RawCall("find_order", {"n": 1}, None, "fc_1")
    assert usage_of(answer) == SPENT


async def test_what_the_end_repeats_is_not_told_again() -> None:
    again = [message("Hello", id="other"), call('{"n":1}', id="other")]
    sent = [*HI, added(call("", id="fc_1"), 1), ended(output=[message("Hello"), call('{"n":1}')])]

    answer = await answer_to(stream(*sent), tools=["find_order"])
    other = await answer_to(stream(*HI, ended(output=again)))

    assert answer.parts == [Text("Hello"), RawCall("find_order", {"n": 1}, None, "fc_1")]
    assert other.parts == [Text("Hello")]


@pytest.mark.parametrize("sent", [{"object": "list"}, {"type": "response.created"}, 7, [], None])
async def test_what_is_no_answer_is_an_error(sent: Any) -> None:
    with pytest.raises((ProviderError, ConnectionFailedError)):
        await answer_to(Reply([events(sent)]))


async def test_an_answer_in_the_background_is_no_answer_yet() -> None:
    with pytest.raises(ProviderError, match="no answer"):
        await answer_to(plain({"object": "response", "status": "queued", "output": []}))


async def test_the_connection_is_used_again() -> None:
    reply = stream(*HI, ended())
    async with loopback(reply, reply) as server:
        asking = model(server)
        for _ in range(2):
            await assembled(asking, asked(tools=[tool()]))

    assert server.connections == 1
