"""What a server does, and how often the agent asks it, through the official SDK."""

from __future__ import annotations

import asyncio
import socket
from email.utils import formatdate
from typing import Any

import pytest

from remit import Agent, Budget, Card, Event, Pricing, Result
from remit.errors import ConnectionFailedError, ProviderError
from remit.events import FallbackEvent, RetryEvent
from remit.models.openai_chat import OpenAIChat
from remit.options import Retry
from tests.loopback import Loopback, Reply, delta, events, loopback, plain, stream
from tests.unit.models.asking import KEY

pytestmark = pytest.mark.slow

CARD = Card(pricing=Pricing(input=1, output=10))
DONE = stream(delta(content="Done."), delta("stop"))
CUT = Reply([], status=0, ending="cut")
CUT_IN_THE_HEAD = Reply([events(delta(role="assistant", content=""), done=False)], ending="cut")
BROKEN: dict[str, dict[str, Any]] = {
    "in its text": {"content": "Hel"},
    "in its reasoning": {"reasoning_content": "Hm"},
    "in a call": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "lo"}}]},
}


def refusal(status: int, code: str = "", **headers: str) -> Reply:
    return plain({"error": {"message": "No.", "code": code or None}}, status, **headers)


def chat(server: Loopback, name: str = "one", provider: str = "openai") -> OpenAIChat:
    base = server.base_url
    return OpenAIChat(name, provider=provider, base_url=base, api_key=KEY, card=CARD)


def agent(*models: OpenAIChat, **options: Any) -> Agent[Any, Any]:
    given: dict[str, Any] = {"name": "desk", "model": models, "budget": Budget(turns=3)}
    return Agent(**(given | {"retry": Retry(first=0)} | options))


async def answered(*replies: Reply, **options: Any) -> tuple[Result, list[Event], int]:
    """What a server's replies come to, what was told, and how often it was asked."""
    told: list[Event] = []
    async with loopback(*replies) as server:
        result = await agent(chat(server), **options).run("Go", on_event=told.append)
    return result, told, len(server.requests)


async def failed(*replies: Reply, **options: Any) -> tuple[Any, int]:
    """The error that a server's replies come to, and how often it was asked."""
    async with loopback(*replies) as server:
        with pytest.raises((ProviderError, ConnectionFailedError)) as caught:
            await agent(chat(server), **options).run("Go")
    return caught.value, len(server.requests)


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_busy_server_is_asked_again_and_nothing_is_charged(status: int) -> None:
    result, told, asked = await answered(refusal(status), refusal(status), DONE)

    assert (result.text, asked) == ("Done.", 3)
    assert [event.status for event in told if isinstance(event, RetryEvent)] == [status] * 2
    assert result.usage == result.turns[0].usage


async def test_a_server_is_left_alone_for_the_seconds_that_it_asks_for() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    result, told, _ = await answered(refusal(429, retry_after="0.2"), DONE)

    assert result.text == "Done."
    assert loop.time() - began >= 0.2
    assert [event.wait for event in told if isinstance(event, RetryEvent)] == [0.2]


async def test_a_server_may_ask_for_a_date() -> None:
    dates = {"retry_after": formatdate(1_800_000_001, usegmt=True)}
    dates["date"] = formatdate(1_800_000_000, usegmt=True)
    _, told, _ = await answered(refusal(429, **dates), DONE)

    assert [event.wait for event in told if isinstance(event, RetryEvent)] == [1.0]


async def test_for_an_hour_nobody_waits() -> None:
    error, asked = await failed(refusal(429, retry_after="3600"))

    assert (error.status, error.retry_after, asked) == (429, 3600.0, 1)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, ""),
        (401, "invalid_api_key"),
        (402, ""),
        (403, ""),
        (404, "model_not_found"),
        (422, ""),
        (429, "insufficient_quota"),
    ],
)
async def test_what_would_be_refused_again_is_asked_once(status: int, code: str) -> None:
    error, asked = await failed(refusal(status, code))

    assert (error.status, error.usage.tokens, asked) == (status, 0, 1)


@pytest.mark.parametrize(
    "reply",
    [CUT, CUT_IN_THE_HEAD, refusal(504), refusal(408), refusal(500)],
    ids=["a cut", "a cut behind the head", "504", "408", "500"],
)
async def test_what_was_sent_and_not_answered_is_counted_and_asked_again(reply: Reply) -> None:
    result, told, asked = await answered(reply, DONE)

    assert (result.text, asked) == ("Done.", 2)
    assert [event.failure for event in told if isinstance(event, RetryEvent)] == ["unanswered"]
    assert result.usage.estimated
    assert result.usage.output_tokens > 4096


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
async def test_an_answer_that_broke_is_paid_and_never_asked_for_again(
    fields: dict[str, Any],
) -> None:
    error, asked = await failed(Reply([events(delta(**fields), done=False)], ending="cut"))

    assert asked == 1
    assert error.usage.estimated
    assert 0 < error.usage.output_tokens < 20


async def test_a_server_that_nobody_reaches_is_tried_again_for_nothing() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
        dead = OpenAIChat("one", base_url=base, api_key=KEY, card=CARD)
        told: list[Event] = []
        async with loopback(DONE) as server:
            result = await agent(dead, chat(server, "two")).run("Go", on_event=told.append)

    found = [event for event in told if isinstance(event, RetryEvent | FallbackEvent)]
    assert [event.kind for event in found] == ["retry", "retry", "retry", "fallback"]
    assert {event.failure for event in found} == {"unreached"}
    assert [turn.model for turn in result.turns] == ["openai:two"]
    assert result.usage == result.turns[0].usage


async def test_a_quota_that_is_spent_goes_to_another_maker_at_once() -> None:
    async with loopback(refusal(429, "insufficient_quota"), DONE) as server:
        models = [chat(server, "one"), chat(server, "two"), chat(server, "three", "other")]
        result = await agent(*models).run("Go")

    assert [sent.body["model"] for sent in server.requests] == ["one", "three"]
    assert [turn.model for turn in result.turns] == ["other:three"]


async def test_a_model_that_is_not_there_is_passed_on_at_once() -> None:
    async with loopback(refusal(404, "model_not_found"), DONE) as server:
        result = await agent(chat(server, "one"), chat(server, "two")).run("Go")

    assert [sent.body["model"] for sent in server.requests] == ["one", "two"]
    assert result.text == "Done."
