"""The provider on loopback as Gemini: scripts, streams, quirks and refusals over real HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from remit.errors import ProviderError
from remit.models.assemble import RawCall
from remit.models.google import GoogleGemini
from remit.models.request import Chunk, StopChunk, TextChunk
from remit.testing import Answer, Call, Quirks, Reply, Say, StrictProvider, Think
from remit.testing.provider import Sent, sign_call, sign_text
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError
from remit.values.usage import Usage
from tests.unit.models.asking import asked, tool, usages
from tests.unit.models.gemini.asking import assembled, chunks_of, into

pytestmark = pytest.mark.slow

USED = Usage(input_tokens=100, cache_read_tokens=60, output_tokens=20, reasoning_tokens=5)
ASKED = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


def gemini(provider: StrictProvider) -> GoogleGemini:
    return GoogleGemini("gemini-test", base_url=provider.gemini_url, api_key="k")


async def post(
    provider: StrictProvider, body: Any = ASKED, method: str = "generateContent", **headers: str
) -> httpx2.Response:
    url = f"{provider.gemini_url}/v1beta/models/gemini-test:{method}"
    async with httpx2.AsyncClient() as client:
        given = {"x-goog-api-key": "k"} | headers
        return await client.post(url, content=json.dumps(body).encode(), headers=given)


async def test_a_script_is_answered_through_the_official_client() -> None:
    script: list[Any] = [
        [Think("hm"), Say("One moment."), Call("a", x=1), Call("b")],
        [Think("so"), Say("done", pieces=2)],
    ]
    async with StrictProvider(script) as provider:
        request = asked(tools=[tool("a"), tool("b")])
        first = await assembled(gemini(provider), request)
        second = await assembled(gemini(provider), request)

    assert first.parts == [
        Reasoning("hm"),
        Text("One moment."),
        RawCall("a", {"x": 1}, None, sign_call("a", {"x": 1}, "strict")),
        RawCall("b", {}),
    ]
    assert second.parts == [
        Reasoning("so"),
        Text("done"),
        Reasoning("", sign_text("strict"), form="text"),
    ]
    assert not provider.refused


@pytest.mark.parametrize(("place", "count"), [("after", 1), ("before", 1), ("twice", 1)])
async def test_usage_is_reported_where_it_is_wanted(place: Any, count: int) -> None:
    said = Reply(Say("Hi there"), usage=USED, quirks=Quirks(usage=place))
    async with StrictProvider([said]) as provider:
        found = usages(await chunks_of(gemini(provider)))

    assert found == [USED] * count


async def test_usage_that_never_comes_is_estimated() -> None:
    said = Reply(Say("Hi"), usage=USED, quirks=Quirks(usage="never"))
    async with StrictProvider([said]) as provider:
        [found] = usages(await chunks_of(gemini(provider)))

    assert found.estimated


@pytest.mark.parametrize("ids", ["given", "repeated", "empty", "missing"])
async def test_calls_come_whole_and_together_whatever_their_ids(ids: Any) -> None:
    said = Reply(Call("a", x=1), Call("a", x=2), quirks=Quirks(ids=ids))
    async with StrictProvider([said, said]) as provider:
        answer = await assembled(gemini(provider), asked(tools=[tool("a")]))
        body = (await post(provider, method="streamGenerateContent?alt=sse")).text
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]
    calls = [part["functionCall"] for part in events[0]["candidates"][0]["content"]["parts"]]

    assert [p.arguments for p in answer.parts if isinstance(p, RawCall)] == [{"x": 1}, {"x": 2}]
    wanted = {"given": ["fc_3", "fc_4"], "repeated": ["fc_0"] * 2, "empty": ["", ""]}
    assert [call.get("id") for call in calls] == wanted.get(ids, [None, None])


async def test_an_answer_may_come_as_one_object() -> None:
    async with StrictProvider([Reply(Think("hm"), Call("a"), usage=USED)]) as provider:
        body = (await post(provider)).json()

    [candidate] = body["candidates"]
    assert [set(part) for part in candidate["content"]["parts"]] == [
        {"text", "thought"},
        {"functionCall", "thoughtSignature"},
    ]
    assert candidate["finishReason"] == "STOP"
    assert body["usageMetadata"] == {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 15,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 120,
    }


@pytest.mark.parametrize(
    ("stop", "told"), [("length", "length"), ("refusal", "refusal"), ("end", "end")]
)
async def test_why_it_stops_stands_on_the_wire(stop: Any, told: str) -> None:
    async with StrictProvider([Answer(Say("Hi"), stop=stop)]) as provider:
        chunks = await chunks_of(gemini(provider))

    assert chunks[-1] == StopChunk(told)  # type: ignore[arg-type]


async def test_a_function_answers_by_the_request() -> None:
    def answer(sent: Sent) -> Say:
        return Say(sent.body["contents"][-1]["parts"][0]["text"])

    async with StrictProvider(answer) as provider:
        answered = await assembled(gemini(provider))

    assert answered.parts == [Text("Hello")]


async def test_scripted_errors_come_before_an_answer_and_inside_of_it() -> None:
    busy = ProviderError(status=429, retry_after=3, message="slow down")
    broken = Reply(Say("Hel"), fails=ProviderError(status=503, message="overloaded"))
    seen: list[Chunk] = []
    async with StrictProvider([busy, broken]) as provider:
        with pytest.raises(ProviderError) as first:
            await chunks_of(gemini(provider))
        with pytest.raises(ProviderError) as second:
            await into(seen, gemini(provider))

    told = [(e.value.status, e.value.code, e.value.message) for e in (first, second)]
    assert told == [
        (429, "RESOURCE_EXHAUSTED", "slow down"),
        (503, "UNAVAILABLE", "overloaded"),
    ]
    assert first.value.retry_after == 3.0
    assert seen == [TextChunk("Hel")]


@pytest.mark.parametrize("cut", range(4))
async def test_an_answer_that_is_cut_at_any_event_is_an_error(cut: int) -> None:
    said = Reply(Think("hm"), Say("Hi"), Call("a"), quirks=Quirks(cut=cut, chunk=7))
    async with StrictProvider([said]) as provider:
        with pytest.raises(ConnectionFailedError):
            await chunks_of(gemini(provider))


async def test_what_gemini_refuses_is_refused_and_takes_no_item() -> None:
    async with StrictProvider([Say("Hi")]) as provider:
        wrong = await post(provider, {"contents": []})
        keyless = await post(provider, **{"x-goog-api-key": ""})
        right = await post(provider)

    assert (wrong.status_code, wrong.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert (keyless.status_code, keyless.json()["error"]["code"]) == (403, 403)
    assert right.status_code == 200
    assert len(provider.refused) == 2
