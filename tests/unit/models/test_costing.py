"""Whether a failure may have cost is what its class says, whoever raised it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from remit.models.anthropic import AnthropicMessages
from remit.models.failure import classify
from remit.models.google import GoogleGemini
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.models.request import (
    CallChunk,
    Chunk,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    UsageChunk,
)
from remit.models.wire.costing import costing
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage
from tests.loopback import Reply, loopback, plain
from tests.unit.models.asking import KEY, asked
from tests.unit.models.test_failure import CLASSES, Error

ADAPTERS: dict[str, Callable[[str], Any]] = {
    "anthropic": lambda at: AnthropicMessages("m", base_url=at.removesuffix("/v1"), api_key=KEY),
    "gemini": lambda at: GoogleGemini("m", base_url=at.removesuffix("/v1"), api_key=KEY),
    "chat": lambda at: OpenAIChat("m", base_url=at, api_key=KEY),
    "responses": lambda at: OpenAIResponses("m", base_url=at, api_key=KEY),
}
STATUSES = (400, 401, 402, 404, 408, 409, 410, 413, 422, 429, 500, 501, 502, 503, 504, 505, 529)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("status", STATUSES)
async def test_a_refusal_may_have_cost_as_its_class_says(adapter: str, status: int) -> None:
    async with loopback(plain({"error": {"message": "Oh"}}, status)) as server:
        error = await failed(ADAPTERS[adapter](server.base_url))

    assert error.may_cost is (classify(error, begun=False).charge != "nothing")
    assert error.may_cost is (status in (408, 500, 502, 504))


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_request_that_was_cut_unanswered_may_have_cost(adapter: str) -> None:
    async with loopback(Reply([], status=0, ending="cut")) as server:
        error = await failed(ADAPTERS[adapter](server.base_url))

    assert error.may_cost


class Failing:
    """Gives `chunks` and then raises."""

    def __init__(self, error: Error, *chunks: Chunk) -> None:
        self.error, self.chunks = error, chunks

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for chunk in self.chunks:
            yield chunk
        raise self.error


def again(error: Error) -> Error:
    """Another error of the same kind."""
    return type(error)(**vars(error))


COMES: dict[str, tuple[tuple[Chunk, ...], bool, Usage | None]] = {
    "nothing": ((), False, None),
    "no text": ((TextChunk(""),), False, None),
    "text": ((TextChunk("a"),), True, None),
    "reasoning": ((ReasoningChunk("a"),), True, None),
    "a call": ((CallChunk(0),), True, None),
    "usage": ((UsageChunk(Usage(input_tokens=9)),), False, Usage(input_tokens=9)),
}


@pytest.mark.parametrize(("chunks", "begun", "usage"), COMES.values(), ids=COMES)
@pytest.mark.parametrize("error", [error for error, _ in CLASSES.values()], ids=CLASSES)
async def test_every_failure_may_have_cost_as_its_class_says(
    error: Error, chunks: tuple[Chunk, ...], begun: bool, usage: Usage | None
) -> None:
    expected = classify(error, begun=begun, usage=usage).charge != "nothing"

    assert (await failed(Failing(again(error), *chunks))).may_cost is expected
    assert expected or not (begun or usage)


async def failed(model: Any) -> Error:
    with pytest.raises((ProviderError, ConnectionFailedError)) as caught:
        async for _ in model.stream(asked()):
            pass
    found: Any = caught.value
    return found  # type: ignore[no-any-return]  # one of the two
