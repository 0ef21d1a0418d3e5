"""What goes wrong with Responses is told at once, with what it may have cost and without a key."""

from __future__ import annotations

import asyncio
import socket
import traceback
from contextlib import aclosing
from typing import Any

import openai
import pytest

from remit.models.catalogue import Catalogue
from remit.models.openai_responses import OpenAIResponses
from remit.models.protocol import Card
from remit.values.content import Text
from remit.values.errors import ConfigError, ConnectionFailedError, ProviderError
from tests.loopback import Reply, events, loopback, plain
from tests.unit.models.asking import KEY, asked
from tests.unit.models.responses import (
    answer_to,
    assembled,
    chunks_of,
    ended,
    event,
    model,
    stream,
)

OPENAI = {"error": {"message": "Try later", "type": "requests", "code": "rate_limit_exceeded"}}
SAID = event("output_text.delta", delta="Hi")
HI = stream(SAID, ended())
ECHO = {"message": f"Incorrect API key provided: {KEY}. Or sk-proj-abcdefghijkl?"}
NOTHING = Reply([], status=0, ending="hang")


@pytest.mark.parametrize("status", [400, 401, 402, 404, 408, 429, 500, 503, 504, 529])
async def test_a_refusal_is_told_with_its_facts_and_asked_once(status: int) -> None:
    async with loopback(plain(OPENAI, status, x_request_id="req_7", retry_after="3")) as server:
        with pytest.raises(ProviderError) as caught:
            await chunks_of(model(server))

    error = caught.value
    assert (error.status, error.code, error.message) == (status, "rate_limit_exceeded", "Try later")
    assert (error.request_id, error.retry_after) == ("req_7", 3.0)
    assert error.may_cost is (status in (408, 500, 504))
    assert len(server.requests) == 1


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_a_server_that_cannot_be_reached_cost_nothing() -> None:
    asking = OpenAIResponses("m", base_url=f"http://127.0.0.1:{unused_port()}/v1", api_key=KEY)

    with pytest.raises(ConnectionFailedError) as caught:
        await chunks_of(asking)

    assert not caught.value.may_cost
    assert caught.value.__context__ is None
    assert KEY not in all_of(caught.value)


@pytest.mark.parametrize("reply", [NOTHING, Reply([], status=0, ending="cut")])
async def test_a_request_that_was_sent_and_not_answered_may_have_cost(reply: Reply) -> None:
    with pytest.raises(ConnectionFailedError) as caught:
        await answer_to(reply, timeout=0.3)

    assert caught.value.may_cost


def all_of(error: BaseException) -> str:
    """Whatever a log could show of an error."""
    shown = "".join(traceback.format_exception(error))
    return f"{error!r} {error} {vars(error)} {shown}"


@pytest.mark.parametrize(
    "reply",
    [
        plain({"error": ECHO}, 401),
        stream(SAID, {"type": "error", "error": ECHO}),
        stream(SAID, ended("failed", error=ECHO)),
    ],
    ids=["refused", "an error", "failed"],
)
async def test_an_error_does_not_show_the_key(reply: Reply) -> None:
    with pytest.raises(ProviderError) as caught:
        await answer_to(reply)

    assert "[hidden]" in caught.value.message
    assert KEY not in all_of(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign",
    [
        b": still here\n\n",
        events({"type": "response.in_progress", "response": {}}, done=False),
        events({"type": "keepalive"}, done=False),
        events(event("output_text.delta", delta=""), done=False),
    ],
    ids=["comments", "progress", "keepalives", "empty pieces"],
)
async def test_signs_of_life_are_no_answer(sign: bytes) -> None:
    begun = events(SAID, done=False)

    with pytest.raises(ConnectionFailedError, match=r"for 0\.3 seconds"):
        await answer_to(Reply([begun, sign], ending="repeat", pause=0.02), timeout=0.3)


async def test_cancelling_closes_the_stream() -> None:
    began = asyncio.Event()

    async def ask() -> None:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            async for _ in answer:
                began.set()

    async with loopback(Reply([events(SAID, done=False)], ending="hang")) as server:
        asking = asyncio.create_task(ask())
        await began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.left.wait(), 5)


async def test_leaving_early_closes_the_stream() -> None:
    async with loopback(Reply([events(SAID, done=False)], ending="hang")) as server:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            await anext(answer)
        await asyncio.wait_for(server.left.wait(), 5)


async def test_a_client_of_ones_own_is_used_without_retries() -> None:
    async with (
        loopback(plain({"error": {"message": "Oh"}}, 500), HI) as server,
        openai.AsyncOpenAI(
            api_key=KEY, base_url=server.base_url, max_retries=5, default_headers={"x-team": "desk"}
        ) as client,
    ):
        asking = OpenAIResponses("gpt-test", client=client)
        with pytest.raises(ProviderError):
            await chunks_of(asking)
        answer = await assembled(asking)

        assert not client.is_closed()
    assert answer.parts == [Text("Hi")]
    assert [request.headers["x-team"] for request in server.requests] == ["desk", "desk"]


async def test_an_azure_client_goes_to_its_own_address() -> None:
    async with (
        loopback(HI) as server,
        openai.AsyncAzureOpenAI(
            api_key=KEY, azure_endpoint=f"http://127.0.0.1:{server.port}", api_version="2026-01-01"
        ) as client,
    ):
        answer = await assembled(OpenAIResponses("my-deployment", client=client))

    assert answer.parts == [Text("Hi")]
    assert server.requests[0].path.startswith("/openai/responses?")
    assert server.requests[0].body["model"] == "my-deployment"


async def test_the_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(HI) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-later\n")
        await chunks_of(OpenAIResponses("gpt-test"))

    assert server.requests[0].headers["authorization"] == "Bearer sk-later"
    assert server.requests[0].path == "/v1/responses"


async def test_a_missing_key_is_told_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY, or give OpenAIResponses\("):
        await OpenAIResponses("gpt-test").prepare()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"model": ""}, "name"),
    ({"client": object()}, "AsyncOpenAI"),
    ({"client": openai.OpenAI(api_key=KEY)}, "AsyncOpenAI"),
    ({"client": openai.AsyncOpenAI(api_key=KEY), "base_url": "http://x"}, "belong to the client"),
    ({"base_url": "localhost:8080/v1"}, "http://"),
    ({"timeout": 0}, "more than 0"),
    ({"output": "json"}, '"schema", "tool" or None'),
    ({"reasons": False, "effort": "low"}, "models that reason"),
    ({"summary": "auto", "options": {"reasoning": {}}}, "effort= and summary="),
    ({"options": {"input": [], "tools": []}}, "input, tools: remit sets it"),
    ({"options": {"store": True, "background": True}}, "background, store: nothing is kept"),
    ({"options": {"previous_response_id": "resp_1"}}, "nothing is kept"),
    ({"options": {"prompt": {"id": "pmpt_1"}}}, "no grant"),
    ({"options": {"text": {"format": {"type": "json_object"}}}}, "output="),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[words for _, words in WRONG])
def test_options_that_cannot_work_are_refused_when_it_is_made(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        OpenAIResponses(**({"model": "gpt-test"} | options))


def test_a_model_is_named_after_its_provider_and_does_not_show_its_key() -> None:
    assert OpenAIResponses("gpt-5.6").name == "openai-responses:gpt-5.6"
    assert OpenAIResponses("openai-responses:gpt-5.6").model == "gpt-5.6"
    assert KEY not in repr(OpenAIResponses("gpt-test", api_key=KEY))


def test_the_catalogue_makes_it_with_its_card() -> None:
    card = Card(window=9_000)
    found = Catalogue({"openai-responses:gpt-test": card}).model("openai-responses:gpt-test")

    assert isinstance(found, OpenAIResponses)
    assert (found.name, found.card) == ("openai-responses:gpt-test", card)
