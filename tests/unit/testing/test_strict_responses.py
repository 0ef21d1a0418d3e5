"""The provider on loopback speaks Responses as the official package reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from remit.errors import ProviderError
from remit.testing import Answer, Call, Quirks, Reply, Say, StrictProvider, Think
from remit.values.errors import ConnectionFailedError
from remit.values.usage import Usage

pytestmark = pytest.mark.slow

USED = Usage(
    input_tokens=100,
    cache_read_tokens=60,
    cache_write_tokens=30,
    output_tokens=20,
    reasoning_tokens=5,
)
PARTS = (Think("So."), Say("Adding.", pieces=3), Call("add", a=1), Call("add", a=2))
REPLY = Reply(*PARTS, usage=USED)


@asynccontextmanager
async def sdk(*script: Any) -> AsyncIterator[tuple[StrictProvider, openai.AsyncOpenAI]]:
    async with (
        StrictProvider(script) as provider,
        openai.AsyncOpenAI(
            base_url=provider.openai_url, api_key="k", max_retries=0, timeout=10
        ) as client,
    ):
        yield provider, client


async def ask(client: openai.AsyncOpenAI, **fields: Any) -> Any:
    return await client.responses.create(**{"model": "gpt-test", "input": "Hi"} | fields)


async def streamed(client: openai.AsyncOpenAI) -> list[Any]:
    return [event async for event in await ask(client, stream=True)]


async def test_an_answer_is_the_same_streamed_and_whole() -> None:
    async with sdk(REPLY, REPLY) as (_, client):
        events = await streamed(client)
        whole = await ask(client)

    assert events[-1].type == "response.completed"
    assert [item.type for item in whole.output] == [
        *("reasoning", "message", "function_call", "function_call"),
    ]
    # The ids of calls are counted; all else is the same.
    kept = [item.model_dump(exclude={"call_id"}) for item in events[-1].response.output]
    assert kept == [item.model_dump(exclude={"call_id"}) for item in whole.output]
    assert events[-1].response.usage == whole.usage
    assert whole.output_text == "Adding."
    assert whole.usage.input_tokens_details.cached_tokens == 60


async def test_its_events_add_up_to_its_items() -> None:
    async with sdk(REPLY) as (_, client):
        events = await streamed(client)

    assert [event.sequence_number for event in events] == list(range(len(events)))
    texts = [e.delta for e in events if e.type == "response.output_text.delta"]
    arguments = [e.delta for e in events if e.type == "response.function_call_arguments.delta"]
    assert ("".join(texts), "".join(arguments)) == ("Adding.", '{"a": 1}{"a": 2}')
    done = [e.item for e in events if e.type == "response.output_item.done"]
    assert done == events[-1].response.output


@pytest.mark.parametrize(
    ("stop", "reason"), [("length", "max_output_tokens"), ("refusal", "content_filter")]
)
async def test_an_answer_that_is_not_whole_says_why(stop: Any, reason: str) -> None:
    async with sdk(Answer(Say("Half"), stop=stop)) as (_, client):
        events = await streamed(client)

    assert events[-1].type == "response.incomplete"
    assert events[-1].response.incomplete_details.reason == reason


async def test_an_error_in_the_middle_is_a_failed_answer() -> None:
    fails = ProviderError(status=500, code="server_error", message="Oh no")
    async with sdk(Reply(Say("Half"), fails=fails)) as (_, client):
        events = await streamed(client)

    assert events[-1].type == "response.failed"
    assert events[-1].response.error.message == "Oh no"


async def test_what_is_refused_takes_no_answer() -> None:
    lone = [{"type": "function_call_output", "call_id": "a", "output": "3"}]
    async with sdk(Say("Hi")) as (provider, client):
        with pytest.raises(openai.BadRequestError, match="No tool call found"):
            await ask(client, input=lone)
        answer = await ask(client)

    assert answer.output_text == "Hi"
    assert len(provider.refused) == 1
    provider.assert_used()


async def test_scripted_failures_come_with_their_facts() -> None:
    busy = ProviderError(status=429, retry_after=3, request_id="req_7", message="Slow down")
    async with sdk(busy, ConnectionFailedError(reason="gone")) as (_, client):
        with pytest.raises(openai.RateLimitError, match="Slow down") as caught:
            await ask(client)
        with pytest.raises(openai.APIConnectionError):
            await ask(client)

    headers = caught.value.response.headers
    assert (headers["retry-after"], headers["x-request-id"]) == ("3", "req_7")


async def test_usage_may_never_be_told() -> None:
    async with sdk(Reply(Say("Hi"), quirks=Quirks(usage="never"))) as (_, client):
        assert (await ask(client)).usage is None
