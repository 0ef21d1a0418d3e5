"""How long a server is listened to, and how much of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from remit.models.anthropic import AnthropicMessages
from remit.models.assemble import Assembly
from remit.models.google import GoogleGemini
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.models.wire.clients import Clients
from remit.values.content import Text
from remit.values.errors import ProviderError
from tests.loopback import Reply, delta, events, loopback
from tests.unit.models.asking import answer_to, asked

PIECE = "word " * 100
CALL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": PIECE}}
BEGUN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
SAID = {"type": "text_delta", "text": PIECE}
ENDLESS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "chat": (OpenAIChat, [delta(content=PIECE)]),
    "reasoning": (OpenAIChat, [delta(reasoning=PIECE)]),
    "arguments": (OpenAIChat, [delta(tool_calls=[CALL])]),
    "responses": (OpenAIResponses, [{"type": "response.output_text.delta", "delta": PIECE}]),
    "messages": (
        AnthropicMessages,
        [BEGUN, {"type": "content_block_delta", "index": 0, "delta": SAID}],
    ),
    "gemini": (GoogleGemini, [{"candidates": [{"content": {"parts": [{"text": PIECE}]}}]}]),
}


@pytest.mark.parametrize(("made", "sent"), ENDLESS.values(), ids=ENDLESS)
async def test_an_answer_that_goes_on_beyond_its_length_is_cut(
    made: Any, sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.models.wire.listening._BYTES_BESIDE", 1_000)
    reply = Reply([events(each, done=False) for each in sent], ending="repeat")
    answer = Assembly()

    async with loopback(reply) as server, asyncio.timeout(20):
        address = f"http://127.0.0.1:{server.port}"
        model = made("a-model", base_url=address, api_key="a-key-of-mine")
        async for chunk in model.stream(asked(max_output=100)):
            answer.add(chunk)

    answer.close()
    assert answer.stop == "length"
    assert answer.parts
    if made is not AnthropicMessages:  # without any report the loop makes its own estimate
        assert answer.usage is not None
        assert answer.usage.estimated
        assert answer.usage.output_tokens > 100


async def test_what_was_told_of_an_answer_that_is_cut_is_no_more_than_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remit.models.wire.listening._BYTES_BESIDE", 1_000)
    told = delta(content=PIECE) | {"usage": {"prompt_tokens": 7, "completion_tokens": 1}}
    reply = Reply([events(told, done=False)], ending="repeat")

    async with loopback(reply) as server, asyncio.timeout(20):
        model = OpenAIChat("a-model", base_url=server.base_url)
        answer = Assembly()
        async for chunk in model.stream(asked(max_output=100)):
            answer.add(chunk)

    assert answer.usage is not None
    assert answer.usage.estimated
    assert answer.usage.input_tokens == 7
    assert answer.usage.output_tokens > 100


async def test_a_stream_that_brings_nothing_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.models.wire.exchange._MOST_BYTES", 100_000)
    detail = delta(reasoning_details=[{"index": 0, "type": "t", "data": PIECE}])

    with pytest.raises(ProviderError, match="more than 100000 bytes"):
        await answer_to(Reply([events(detail, done=False)], ending="repeat"))


async def test_an_answer_that_is_whole_is_not_waited_for_as_long_as_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remit.models.wire.listening.AFTER_FINISH_SECONDS", 0.05)
    sent = [events(delta(content="Hi"), delta("stop"), done=False)]

    async with asyncio.timeout(20):
        answer = await answer_to(Reply(sent, ending="hang"), timeout=300.0)

    assert answer.parts == [Text("Hi")]


async def test_a_client_is_made_once_however_many_ask_for_it_at_once() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    clients = Clients(object(), make)

    found = await asyncio.gather(*(clients.open() for _ in range(5)))

    assert found == made * 5
    assert len(made) == 1
