"""The provider on loopback: scripts, streams, quirks and refusals over real HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from remit.errors import ProviderError
from remit.models.assemble import Assembly, RawCall
from remit.models.openai_chat import OpenAIChat
from remit.models.request import ReasoningChunk
from remit.testing import Answer, Call, Quirks, Reply, Say, StrictProvider, Think
from remit.testing.provider import Sent, sign
from remit.values.content import Text
from remit.values.errors import ConfigError, ConnectionFailedError
from remit.values.usage import Usage
from tests.unit.models.asking import asked, assembled, chunks_of, text_of, tool, usages

ANTHROPIC = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
ASKED = [{"role": "user", "content": "a"}]
MESSAGES: dict[str, Any] = {"model": "claude-test", "max_tokens": 9, "messages": ASKED}
USED = Usage(
    input_tokens=100,
    cache_read_tokens=60,
    cache_write_tokens=30,
    output_tokens=20,
    reasoning_tokens=5,
)


def chat(provider: StrictProvider) -> OpenAIChat:
    return OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")


def text_in(assembly: Assembly) -> str:
    return "".join(part.text for part in assembly.parts if isinstance(part, Text))


def calls_in(assembly: Assembly) -> list[tuple[str, dict[str, Any]]]:
    calls = [part for part in assembly.parts if isinstance(part, RawCall)]
    return [(call.name, call.arguments) for call in calls]


async def post(
    provider: StrictProvider, body: Any = MESSAGES, headers: Any = ANTHROPIC
) -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"{provider.anthropic_url}/v1/messages"
        return await client.post(url, content=content, headers=headers)


def events_of(response: httpx2.Response) -> list[dict[str, Any]]:
    lines = response.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


async def test_a_script_is_answered_through_the_official_client() -> None:
    calls: list[Any] = [Think("hm"), Say("One moment."), Call("a", x=1), Call("b")]
    async with StrictProvider([calls, Say("done", pieces=2)]) as provider:
        request = asked(tools=[tool("a"), tool("b")])
        first = await assembled(chat(provider), request)
        second = await chunks_of(chat(provider), request)

    assert text_in(first) == "One moment."
    assert calls_in(first) == [("a", {"x": 1}), ("b", {})]
    assert text_of(second) == "done"
    assert [sent.path for sent in provider.requests] == ["/v1/chat/completions"] * 2
    assert not provider.refused


async def test_a_function_answers_by_the_request() -> None:
    def answer(sent: Sent) -> Say:
        return Say(sent.body["messages"][-1]["content"])

    async with StrictProvider(answer) as provider:
        assert text_in(await assembled(chat(provider))) == "Hello"
        assert text_in(await assembled(chat(provider))) == "Hello"
    provider.assert_used()


@pytest.mark.parametrize(("place", "count"), [("after", 1), ("before", 1), ("twice", 2)])
async def test_usage_is_reported_where_it_is_wanted(place: Any, count: int) -> None:
    said = Reply(Say("Hi"), usage=USED, quirks=Quirks(usage=place))
    async with StrictProvider([said]) as provider:
        chunks = await chunks_of(chat(provider))

    assert usages(chunks)[-1] == USED
    assert provider.requests[0].body["stream_options"] == {"include_usage": True}


async def test_usage_that_never_comes_is_never_sent() -> None:
    async with StrictProvider([Reply(Say("Hi"), quirks=Quirks(usage="never"))]) as provider:
        body = {"model": "m", "messages": [{"role": "user", "content": "a"}], "stream": True}
        async with httpx2.AsyncClient() as client:
            url, headers = f"{provider.openai_url}/chat/completions", {"authorization": "Bearer k"}
            response = await client.post(url, json=body, headers=headers)

    assert '"usage": {' not in response.text
    assert response.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("ids", ["given", "repeated", "empty", "missing"])
@pytest.mark.parametrize("index", ["counted", "reset"])
async def test_quirks_of_ids_and_indexes_stand_on_the_wire(ids: Any, index: Any) -> None:
    said = Reply(Call("a", x=1), Call("a", x=2), quirks=Quirks(ids=ids, index=index))
    async with StrictProvider([said, said]) as provider:
        body = {"model": "m", "messages": [{"role": "user", "content": "a"}], "stream": True}
        async with httpx2.AsyncClient() as client:
            url, headers = f"{provider.openai_url}/chat/completions", {"authorization": "Bearer k"}
            sse = (await client.post(url, json=body, headers=headers)).text
        messages = events_of(await post(provider, MESSAGES | {"stream": True}))
    chunks = [json.loads(line[6:]) for line in sse.splitlines() if line.startswith("data: {")]
    calls = [
        call for c in chunks for d in c["choices"] for call in d["delta"].get("tool_calls", ())
    ]
    named = [call for call in calls if call["function"].get("name")]
    blocks = [e["content_block"] for e in messages if e["type"] == "content_block_start"]

    expected = {"given": ["call_1", "call_2"], "repeated": ["call_0"] * 2, "empty": ["", ""]}
    assert [call.get("id") for call in named] == expected.get(ids, [None, None])
    assert [call["index"] for call in named] == ([0, 1] if index == "counted" else [0, 0])
    found = ["toolu_3", "toolu_4"] if ids == "given" else expected.get(ids, [None, None])
    assert [b.get("id") for b in blocks] == [i and i.replace("call", "toolu") for i in found]


async def test_events_cut_into_bytes_are_the_same_events() -> None:
    said = Reply(Say("你好👩\u200d🚀"), Call("a", x="né"), quirks=Quirks(chunk=1))
    async with StrictProvider([said]) as provider:
        found = await assembled(chat(provider), asked(tools=[tool("a")]))

    assert text_in(found) == "你好👩\u200d🚀"
    assert calls_in(found) == [("a", {"x": "né"})]


async def test_the_connection_can_be_cut_at_any_event() -> None:
    whole = Reply(Say("one two three"), stop="end")
    counted = 0
    async with StrictProvider(lambda sent: whole) as provider:
        counted = len(events_of(await post(provider, MESSAGES | {"stream": True})))
    for number in range(counted):
        cut = Reply(Say("one two three"), quirks=Quirks(cut=number))
        async with StrictProvider([cut]) as provider:
            with pytest.raises(httpx2.RemoteProtocolError):
                await post(provider, MESSAGES | {"stream": True})


@pytest.mark.parametrize("number", range(5))
async def test_a_cut_before_the_finish_is_a_failed_connection(number: int) -> None:
    said = Reply(Say("one two three"), quirks=Quirks(cut=number))
    async with StrictProvider([said]) as provider:
        with pytest.raises(ConnectionFailedError):
            await assembled(chat(provider))


async def test_a_scripted_failure_to_connect_sends_nothing() -> None:
    async with StrictProvider([ConnectionFailedError(reason="gone")]) as provider:
        with pytest.raises(ConnectionFailedError):
            await assembled(chat(provider))


async def test_a_scripted_error_is_the_vendors() -> None:
    error = ProviderError(status=529, retry_after=3, request_id="req_7", message="Overloaded")
    async with StrictProvider([error, error]) as provider:
        with pytest.raises(ProviderError) as raised:
            await assembled(chat(provider))
        response = await post(provider)

    assert (raised.value.status, raised.value.retry_after) == (529, 3.0)
    assert raised.value.request_id == "req_7"
    assert response.status_code == 529
    assert response.headers["retry-after"] == "3"
    assert response.json()["error"] == {"type": "overloaded_error", "message": "Overloaded"}


async def test_an_error_can_come_in_the_middle_of_a_stream() -> None:
    broken = Reply(Say("Hel"), fails=ProviderError(status=529, message="Overloaded"))
    async with StrictProvider([broken, broken, broken]) as provider:
        with pytest.raises(ProviderError, match="Overloaded"):
            await assembled(chat(provider))
        streamed = events_of(await post(provider, MESSAGES | {"stream": True}))
        whole = await post(provider)

    assert streamed[-1]["error"]["type"] == "overloaded_error"
    assert [event["type"] for event in streamed][-2:] == ["content_block_stop", "error"]
    assert whole.status_code == 529


async def test_what_the_vendor_refuses_takes_no_answer_from_the_script() -> None:
    async with StrictProvider([Say("Hi")]) as provider:
        refused = await post(provider, MESSAGES | {"temperature": 0})
        taken = await post(provider)

    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "temperature: Extra inputs are not permitted"
    assert taken.json()["content"] == [{"type": "text", "text": "Hi"}]
    assert [refusal.message for refusal in provider.refused] == [
        "temperature: Extra inputs are not permitted"
    ]
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"anthropic-version": "2026-10-21"}, 401, "x-api-key header is required"),
        ({"x-api-key": "k"}, 400, "anthropic-version: header is required"),
        (ANTHROPIC | {"anthropic-version": "2023-06-01"}, 400, "is not a valid version"),
    ],
)
async def test_a_key_and_the_version_are_required(headers: Any, status: int, words: str) -> None:
    async with StrictProvider([]) as provider:
        response = await post(provider, headers=headers)

    assert response.status_code == status
    assert words in response.json()["error"]["message"]


@pytest.mark.parametrize("body", [b'{"model": NaN}', b"{", b"[]"])
async def test_what_is_no_json_is_refused(body: bytes) -> None:
    async with StrictProvider([]) as provider:
        response = await post(provider, body)

    assert response.status_code == 400
    assert "not valid JSON" in response.json()["error"]["message"]


async def test_thinking_is_signed_and_wanted_back_unchanged() -> None:
    async with StrictProvider([[Think("hm"), Call("a", x=1)], Say("done")]) as provider:
        answer = (await post(provider)).json()["content"]
        result = {"type": "tool_result", "tool_use_id": answer[1]["id"], "content": "1"}
        rest = [{"role": "assistant", "content": answer}, {"role": "user", "content": [result]}]
        changed = json.loads(json.dumps(rest).replace("hm", "hum"))
        refused = await post(provider, MESSAGES | {"messages": ASKED + changed})
        taken = await post(provider, MESSAGES | {"messages": ASKED + rest})

    assert answer[0] == {"type": "thinking", "thinking": "hm", "signature": sign("hm")}
    assert "Invalid `signature`" in refused.json()["error"]["message"]
    assert taken.status_code == 200


async def test_anthropics_stream_is_what_its_whole_answer_is() -> None:
    said = Reply(Think("a b"), Say("c d"), Call("e", f="g" * 30), usage=USED)
    async with StrictProvider([said, said]) as provider:
        whole = (await post(provider)).json()
        streamed = events_of(await post(provider, MESSAGES | {"stream": True}))
    deltas = [event["delta"] for event in streamed if event["type"] == "content_block_delta"]

    def joined(name: str) -> str:
        return "".join(delta.get(name, "") for delta in deltas)

    thought, text, call = whole["content"]
    assert (joined("thinking"), joined("signature")) == (thought["thinking"], thought["signature"])
    assert joined("text") == text["text"]
    assert json.loads(joined("partial_json")) == call["input"]
    assert streamed[-2]["usage"] == whole["usage"]
    assert streamed[-2]["delta"]["stop_reason"] == whole["stop_reason"] == "tool_use"
    assert whole["usage"]["input_tokens"] == 10
    assert whole["usage"]["cache_read_input_tokens"] == 60


async def test_a_reasoning_field_comes_back_where_it_is_known() -> None:
    async with StrictProvider([[Think("hm"), Say("Hi")]]) as provider:
        chunks = await chunks_of(chat(provider))

    assert "".join(c.text for c in chunks if isinstance(c, ReasoningChunk)) == "hm"


async def test_a_script_that_runs_out_says_what_was_asked() -> None:
    async with StrictProvider([]) as provider:
        response = await post(provider)

    provider.assert_used = lambda: None  # type: ignore[method-assign]  # the plugin asks it
    assert response.status_code == 500
    with pytest.raises(AssertionError, match=r"ran out; asked: .*claude-test"):
        StrictProvider.assert_used(provider)


async def test_answers_that_nobody_asked_for_are_told() -> None:
    async with StrictProvider([Answer(Say("Hi"))]) as provider:
        with pytest.raises(AssertionError, match="1 scripted answers were not used"):
            provider.assert_used()
        await post(provider)


async def test_leaving_drops_a_slow_answer() -> None:
    asked = asyncio.Event()

    def slow(sent: Sent) -> Reply:
        asked.set()
        return Reply(Say("Hi"), quirks=Quirks(pause=3600.0))

    async with StrictProvider(slow) as provider:
        asking = asyncio.create_task(post(provider, MESSAGES | {"stream": True}))
        await asked.wait()
    with pytest.raises(httpx2.HTTPError):
        await asking


@pytest.mark.parametrize("wrong", [{"chunk": 0}, {"cut": -1}])
def test_quirks_that_cannot_be_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Quirks(**wrong)
