"""A GGUF file in this process: the real SmolLM2, with no network and no server of its own."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec import structs

from remit import App, Card, Catalogue
from remit.models.local import LocalModel
from remit.models.request import CallChunk, ModelRequest, StopChunk, TextChunk, ToolSpec, UsageChunk
from remit.testing import no_network
from remit.values.content import Text
from remit.values.errors import ConfigError, ProviderError
from remit.values.messages import UserMessage
from tests.journeys.smollm import INSTALL, desk, weights

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

COUNT = ModelRequest(
    instructions="",
    messages=(UserMessage((Text("Count from one to five."),)),),
    max_output=24,
)
FIND = ToolSpec(
    "find_order",
    "Finds an order by its number.",
    {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
)
PROGRAM = """
import asyncio, sys
from remit import Agent, Budget, Card
from remit.models.local import LocalModel

model = LocalModel(path=sys.argv[1], threads=1, card=Card(window=1024))
desk = Agent(name="desk", model=model, budget=Budget(turns=1), max_output=8)
print(asyncio.run(desk.run("Say hello.")).finish)
"""


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    pytest.importorskip("xllamacpp", reason=f"no llama.cpp here: {INSTALL}")
    made = LocalModel(
        path=weights(), threads=1, card=Card(window=2_048), options={"temperature": 0}, timeout=50
    )
    yield made
    made.close()


async def test_a_run_without_a_network_finds_its_answer_by_a_tool(
    model: LocalModel, tmp_path: Path
) -> None:
    received: list[str] = []

    with no_network():
        async with App(agents=[desk(model, received)], store=f"sqlite:///{tmp_path}/r.db") as app:
            run = await app.run("desk", "Where is my order A-1042?", user="u_17")

    assert received == ["A-1042"]
    assert "Monday" in run.text
    assert {turn.model for turn in run.turns} == {model.name}
    assert model.name == f"local:{weights().stem}"
    assert run.usage.input_tokens > 100
    assert not run.usage.estimated
    assert run.usage.cost == 0


async def test_a_reply_is_held_to_be_a_call_that_fits_its_tool_or_an_answer(
    model: LocalModel,
) -> None:
    asked = UserMessage((Text("Find the order B-77 with the tool."),))
    request = structs.replace(COUNT, messages=(asked,), tools=(FIND,), max_output=80)

    with no_network():
        chunks = [chunk async for chunk in model.stream(request)]

    calls = [chunk for chunk in chunks if isinstance(chunk, CallChunk)]
    assert [call.name for call in calls] == ["find_order"]
    assert '"number"' in calls[0].arguments
    assert chunks[-1] == StopChunk("calls")


async def test_a_model_that_must_call_a_tool_does_and_one_that_may_not_answers(
    model: LocalModel,
) -> None:
    request = structs.replace(COUNT, tools=(FIND,), max_output=80)
    kinds = {}
    for choice in ("required", "none"):
        asked = structs.replace(request, tool_choice=choice)
        chunks = [chunk async for chunk in model.stream(asked)]
        kinds[choice] = {type(each) for each in chunks} & {CallChunk, TextChunk}

    assert kinds == {"required": {CallChunk}, "none": {TextChunk}}


async def test_text_streams_in_pieces_and_tells_what_it_used(model: LocalModel) -> None:
    chunks = [chunk async for chunk in model.stream(COUNT)]

    assert sum(isinstance(chunk, TextChunk) for chunk in chunks) > 3
    [usage] = [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)]
    assert 0 < usage.output_tokens <= 24
    assert isinstance(chunks[-1], StopChunk)


async def test_who_stops_listening_frees_the_model_for_the_next(model: LocalModel) -> None:
    endless = structs.replace(COUNT, max_output=1_500)
    async with aclosing(model.stream(endless)) as stream:  # type: ignore[type-var]
        async for _ in stream:
            break

    async with asyncio.timeout(10):
        assert [chunk async for chunk in model.stream(COUNT)]


async def test_nobody_without_the_key_is_answered_on_loopback() -> None:
    pytest.importorskip("xllamacpp", reason=f"no llama.cpp here: {INSTALL}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = LocalModel(
        path=weights(),
        threads=1,
        card=Card(window=512),
        configure=lambda given: setattr(given, "port", port),
    )
    await model.prepare()
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", data=b"{}")

    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, asked)

    assert refused.value.code == 401
    refused.value.close()
    model.close()


async def test_a_request_longer_than_the_window_is_refused(model: LocalModel) -> None:
    asked = UserMessage((Text("word " * 4_000),))

    with pytest.raises(ProviderError, match="exceeds the available context") as caught:
        _ = [chunk async for chunk in model.stream(structs.replace(COUNT, messages=(asked,)))]

    assert caught.value.status == 400


async def test_a_name_of_the_catalogue_is_the_file_and_loads_nothing_by_itself() -> None:
    before = threading.active_count()

    found = Catalogue().model(f"local:{weights()}")

    assert isinstance(found, LocalModel)
    assert found.file == weights()
    assert threading.active_count() == before


async def test_a_file_that_is_cut_off_is_told_with_the_mend(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason=f"no llama.cpp here: {INSTALL}")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(weights().read_bytes()[:50_000])

    with pytest.raises(ConfigError, match=r"cannot load .*cut off"):
        await LocalModel(path=cut).prepare()


def test_a_program_that_never_closes_its_model_ends_in_order() -> None:
    pytest.importorskip("xllamacpp", reason=f"no llama.cpp here: {INSTALL}")

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(weights())],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout.split()) == (0, ["length"]), done.stderr
