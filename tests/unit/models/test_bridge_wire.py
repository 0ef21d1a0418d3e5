"""Over the bridge to a server of OpenAI's kind, through pydantic-ai's own model of it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal

import pytest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from remit import Agent, Budget, Usage, tool
from remit.models.assemble import RawCall
from remit.models.bridge import Bridge
from remit.models.request import UsageChunk
from remit.options import Retry
from remit.testing import Say, ScriptedModel, no_network
from remit.values.content import Text
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.messages import AssistantMessage
from tests.loopback import Loopback, Reply, delta, loopback, plain, stream
from tests.unit.models.asking import KEY, asked
from tests.unit.models.asking import tool as spec
from tests.unit.models.test_bridge import assembled, chunks_of

pytestmark = pytest.mark.slow

NUMBERS = {
    "prompt_tokens": 10_000,
    "completion_tokens": 500,
    "total_tokens": 10_500,
    "prompt_tokens_details": {"cached_tokens": 9_000},
    "completion_tokens_details": {"reasoning_tokens": 300},
}


def chunk(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return whole(delta(finish, **fields))


def whole(part: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test"}
    return head | part


USED = whole({"choices": [], "usage": NUMBERS})
HI = stream(chunk(role="assistant", content="H"), chunk(content="i"), chunk("stop"), USED)


def called(index: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": f"c_{index}", "type": "function", "function": function}


@asynccontextmanager
async def bridged(*replies: Reply, **options: Any) -> AsyncIterator[tuple[Bridge, Loopback]]:
    """A bridge to a scripted server, with nothing else to reach."""
    with no_network():
        async with loopback(*replies) as server:
            provider = OpenAIProvider(base_url=server.base_url, api_key=KEY)
            async with OpenAIChatModel("gpt-test", provider=provider) as theirs:
                yield Bridge(theirs, **options), server


async def test_an_answer_comes_with_its_text_its_usage_and_its_stop() -> None:
    async with bridged(HI) as (bridge, server):
        found = await assembled(bridge)

    assert found.parts == [Text("Hi")]
    assert found.stop == "end"
    assert found.usage == Usage(
        input_tokens=10_000, cache_read_tokens=9_000, output_tokens=500, reasoning_tokens=300
    )
    assert bridge.name == "bridge:openai:gpt-test"
    assert server.requests[0].body["stream"] is True


async def test_what_a_server_does_not_report_is_left_to_be_estimated() -> None:
    reply = stream(chunk(content="Hi"), chunk("stop"))
    async with bridged(reply) as (bridge, _):
        chunks = await chunks_of(bridge)

    assert not any(isinstance(each, UsageChunk) for each in chunks)


async def test_calls_side_by_side_come_whole() -> None:
    reply = stream(
        chunk(tool_calls=[called(0, "find_order", '{"number"')]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ': "A"}'}}]),
        chunk(tool_calls=[called(1, "find_order", '{"number": "B"}')]),
        chunk("tool_calls"),
        USED,
    )
    async with bridged(reply) as (bridge, _):
        found = await assembled(bridge, asked(tools=[spec(number={"type": "string"})]))

    numbers = [part.arguments for part in found.parts if isinstance(part, RawCall)]
    assert numbers == [{"number": "A"}, {"number": "B"}]
    assert found.stop == "calls"


@pytest.mark.parametrize(
    ("finish", "stop"), [("length", "length"), ("content_filter", "refusal"), ("stop", "end")]
)
async def test_why_a_model_stopped_is_told(finish: str, stop: str) -> None:
    async with bridged(stream(chunk(content="Hi"), chunk(finish), USED)) as (bridge, _):
        assert (await assembled(bridge)).stop == stop


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_a_refusal_is_asked_for_once_and_told_without_the_key(status: int) -> None:
    body = {"error": {"message": f"No for {KEY}", "type": "requests", "code": "limit"}}
    reply = plain(body, status, x_request_id="req_7", retry_after="3", x_should_retry="true")
    async with bridged(reply) as (bridge, server):
        with pytest.raises(ProviderError) as caught:
            await chunks_of(bridge)

    error = caught.value
    assert (error.status, error.code) == (status, "limit")
    assert (error.request_id, error.retry_after) == ("req_7", 3.0)
    assert len(server.requests) == 1
    assert KEY not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("ending", ["cut", "end"])
async def test_a_stream_that_is_cut_off_is_no_answer(ending: Literal["cut", "end"]) -> None:
    reply = Reply(stream(chunk(content="Hal")).pieces[:1], ending=ending)
    async with bridged(reply) as (bridge, _):
        with pytest.raises(ConnectionFailedError):
            await chunks_of(bridge)


@pytest.mark.parametrize(
    "silent",
    [Reply(stream(chunk(content="Hal")).pieces[:1], ending="hang"), Reply([], 0, ending="hang")],
    ids=["within its answer", "before it"],
)
async def test_a_server_that_falls_silent_is_left(silent: Reply) -> None:
    async with bridged(silent, timeout=0.2) as (bridge, server):
        with pytest.raises(ConnectionFailedError, match=r"nothing came for 0\.2 seconds"):
            await chunks_of(bridge)
        await asyncio.wait_for(server.left.wait(), 5)


async def test_who_stops_listening_closes_the_stream() -> None:
    going_on = Reply(stream(chunk(content="more ")).pieces[:1], ending="hang")
    async with bridged(going_on) as (bridge, server):
        async with aclosing(bridge.stream(asked())) as pieces:  # type: ignore[type-var]
            async for _ in pieces:
                break
        await asyncio.wait_for(server.left.wait(), 5)


async def test_a_server_that_is_not_there_is_told() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key=KEY)
    async with OpenAIChatModel("gpt-test", provider=provider) as theirs:
        with pytest.raises(ConnectionFailedError) as caught:
            await chunks_of(Bridge(theirs))

    assert not caught.value.may_cost


async def test_where_nobody_is_there_another_takes_over_and_nothing_was_charged() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key=KEY)
    async with OpenAIChatModel("gpt-test", provider=provider) as theirs:
        other = ScriptedModel([Say("Hi")], name="b:two")
        agent = Agent(
            name="a",
            model=[Bridge(theirs), other],
            budget=Budget(turns=2),
            retry=Retry(attempts=2, first=0),
        )
        result = await agent.run("x")

    assert (result.text, result.usage.tokens) == ("Hi", 120)


@pytest.mark.parametrize(
    ("reply", "may_cost"),
    [
        (plain({"error": {"message": "Oh"}}, 400), False),
        (plain({"error": {"message": "Oh"}}, 503), False),
        (plain({"error": {"message": "Oh"}}, 500), True),
        (plain({"error": {"message": "Oh"}}, 504), True),
        (stream({"error": {"message": "Oh", "code": "server_error"}}), True),
        (stream(chunk(content="Hi"), {"error": {"message": "Oh", "code": "server_error"}}), True),
        (Reply([], 0, ending="cut"), True),
    ],
)
async def test_a_failure_says_whether_it_may_have_cost(reply: Reply, may_cost: bool) -> None:
    async with bridged(reply) as (bridge, _):
        with pytest.raises((ProviderError, ConnectionFailedError)) as caught:
            await chunks_of(bridge)

    error: Any = caught.value
    assert error.may_cost is may_cost


def test_one_by_name_answers_in_one_loop_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = Bridge("openai-chat:gpt-test")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def once() -> str:
        async with loopback(HI) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            found = await assembled(bridge)
            return "".join(part.text for part in found.parts if isinstance(part, Text))

    assert [asyncio.run(once()), asyncio.run(once())] == ["Hi", "Hi"]


async def test_a_run_calls_a_tool_and_sends_its_result() -> None:
    @tool
    async def find_order(number: str) -> str:
        """Finds an order."""
        return f"{number} was shipped."

    asking = stream(
        chunk(tool_calls=[called(0, "find_order", '{"number": "A-1"}')]), chunk("tool_calls"), USED
    )
    async with bridged(asking, HI) as (bridge, server):
        desk = Agent(
            name="desk",
            model=bridge,
            instructions="Help.",
            tools=[find_order],
            budget=Budget(turns=3),
            max_output=99,
        )
        result = await desk.run("Where is A-1?")

    assert result.text == "Hi"
    assert isinstance(result.messages[-1], AssistantMessage)
    sent = server.requests[1].body
    assert sent["max_completion_tokens"] == 99
    assert [message["role"] for message in sent["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert sent["messages"][3]["content"] == "A-1 was shipped."
    assert sent["messages"][2]["tool_calls"][0]["id"] == sent["messages"][3]["tool_call_id"]
