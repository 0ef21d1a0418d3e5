"""A whole run with a real model: llama.cpp in this process, asked over HTTP on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit import App
from remit.models.openai_chat import OpenAIChat
from remit.models.request import ModelRequest, StopChunk, TextChunk, UsageChunk
from remit.values.content import Text
from remit.values.messages import ToolMessage, UserMessage
from tests.journeys.smollm import INSTALL, desk, weights

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """A llama.cpp server with SmolLM2-135M on one thread."""
    xllamacpp = pytest.importorskip("xllamacpp", reason=f"no llama.cpp here: {INSTALL}")
    given = xllamacpp.CommonParams()
    given.model.path = str(weights())
    given.model_alias = {"smollm2"}
    given.n_ctx, given.n_parallel, given.ui, given.verbosity = 2048, 1, False, 0
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(given)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def model(base_url: str) -> OpenAIChat:
    return OpenAIChat(
        "smollm2",
        provider="local",
        base_url=base_url,
        tools="json",
        timeout=50,
        options={"temperature": 0},
    )


async def test_a_real_models_call_reaches_the_tool_and_its_result_the_answer(
    model: OpenAIChat, tmp_path: Path
) -> None:
    received: list[str] = []

    async with App(agents=[desk(model, received)], store=f"sqlite:///{tmp_path}/runs.db") as app:
        run = await app.run("desk", "Where is my order A-1042?", user="u_17")
        kinds = [event.kind async for event in app.events(run.id)]

    assert received == ["A-1042"]
    assert run.status == "succeeded"
    assert "Monday" in run.text
    assert [turn.model for turn in run.turns] == ["local:smollm2"] * len(run.turns)
    results = [message.text for message in run.messages if isinstance(message, ToolMessage)]
    assert results == ["The order A-1042 was shipped on Monday."]
    assert run.usage.input_tokens > 100
    assert run.usage.output_tokens > 10
    assert not run.usage.estimated
    assert kinds[-1] == "done"


async def test_a_real_models_text_streams_in_pieces(model: OpenAIChat) -> None:
    request = ModelRequest(
        instructions="",
        messages=(UserMessage((Text("Count from one to five."),)),),
        max_output=24,
    )

    chunks = [chunk async for chunk in model.stream(request)]

    assert sum(isinstance(chunk, TextChunk) for chunk in chunks) > 3
    [usage] = [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)]
    assert 0 < usage.output_tokens <= 24
    assert isinstance(chunks[-1], StopChunk)
