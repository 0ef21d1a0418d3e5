"""The SDK is loaded late, never retries, and its connections end with the loop."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai
import pytest

from remit.models.openai_chat import OpenAIChat
from remit.values.content import Text
from remit.values.errors import ConfigError, ProviderError
from tests.loopback import delta, loopback, plain, stream
from tests.unit.models.asking import KEY, asked, assembled, chunks_of, model

pytestmark = pytest.mark.slow

HI = stream(delta(content="Hi"), delta("stop"))
LATE = """
import asyncio, sys
from remit import Agent, App, Budget
from remit.errors import ConfigError

agent = Agent(name="a", model="openai:gpt-x", budget=Budget(turns=1))
agent.plan(frozenset())
assert "openai" not in sys.modules

{block}
try:
    asyncio.run(agent.run("Hi"))
except ConfigError as error:
    print(error)
"""


def said(block: str, **env: str) -> str:
    """What a fresh process says when its agent is asked, with no key around but those of `env`."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LATE.format(block=block)],
        env={"PATH": "", "PYTHONPATH": str(Path(__file__).parents[3] / "src")} | env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_missing_key_is_told_before_the_call() -> None:
    told = said("")

    for mend in ("OPENAI_API_KEY", "api_key=", "client="):
        assert mend in told


def test_a_missing_package_is_told_with_its_mend() -> None:
    told = said('sys.modules["openai"] = None', OPENAI_API_KEY=KEY)

    assert "pip install '.[openai]'" in told


def test_a_key_that_cannot_be_sent_is_refused_unshown() -> None:
    told = said("", OPENAI_API_KEY="sk-schlüssel")

    assert "copy it anew" in told
    assert "schlüssel" not in told


async def test_the_key_and_the_address_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with loopback(HI) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        asking = OpenAIChat("gpt-test")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-later\n")
        await chunks_of(asking)

    assert server.requests[0].headers["authorization"] == "Bearer sk-later"
    assert server.requests[0].path == "/v1/chat/completions"


async def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async with loopback(HI) as server:
        answer = await assembled(model(server, api_key=None))

    assert answer.parts == [Text("Hi")]


async def test_a_client_of_ones_own_is_used_without_retries() -> None:
    async with (
        loopback(plain({"error": {"message": "Oh"}}, 500), HI) as server,
        openai.AsyncOpenAI(
            api_key=KEY, base_url=server.base_url, max_retries=5, default_headers={"x-team": "desk"}
        ) as client,
    ):
        asking = OpenAIChat("gpt-test", client=client)
        with pytest.raises(ProviderError):
            await chunks_of(asking)
        await chunks_of(asking)

        assert not client.is_closed()
        assert client.max_retries == 5
    assert [request.headers["x-team"] for request in server.requests] == ["desk", "desk"]


async def test_an_azure_client_goes_to_its_deployment() -> None:
    async with (
        loopback(HI) as server,
        openai.AsyncAzureOpenAI(
            api_key=KEY, azure_endpoint=f"http://127.0.0.1:{server.port}", api_version="2026-01-01"
        ) as client,
    ):
        answer = await assembled(OpenAIChat("my-deployment", client=client))

    assert answer.parts == [Text("Hi")]
    assert server.requests[0].path.startswith("/openai/deployments/my-deployment/chat/completions?")
    assert server.requests[0].headers["api-key"] == KEY


async def test_a_client_that_cannot_send_is_told_so() -> None:
    async def no_token() -> str:
        raise openai.OpenAIError(f"no token for {KEY}")

    async with (
        loopback() as server,
        openai.AsyncOpenAI(api_key=no_token, base_url=server.base_url) as client,
    ):
        with pytest.raises(ConfigError, match=r"no token for \[hidden\]"):
            await chunks_of(OpenAIChat("gpt-test", client=client))


def test_one_model_serves_one_loop_after_another_and_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking = OpenAIChat("gpt-test", api_key=KEY)
    served: list[Any] = []

    async def once() -> None:
        async with loopback(HI) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            await chunks_of(asking)
            served.append((await asking._clients.open(), server.connections))

    for _ in range(3):
        asyncio.run(once())
    gc.collect()  # what was left open would warn here, and a warning is an error

    assert [connections for _, connections in served] == [1, 1, 1]
    assert all(client.is_closed() for client, _ in served)
    assert len(asking._clients._held) == 1


def test_a_model_that_goes_with_its_loop_leaves_nothing_open() -> None:
    async def once() -> None:
        async with loopback(HI, HI, HI) as server:
            asking = model(server)
            await asyncio.gather(*(chunks_of(asking) for _ in range(3)))

    for _ in range(10):
        asyncio.run(once())
    gc.collect()  # what was left open would warn here, and a warning is an error


async def test_a_model_that_goes_long_before_its_loop_is_closed_soon() -> None:
    async with loopback(HI) as server:
        asking = model(server, timeout=5)
        await chunks_of(asking)
        client = await asking._clients.open()
        del asking
        async with asyncio.timeout(5):
            while not client.is_closed():
                gc.collect()
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("rounds", range(5))
async def test_a_model_that_goes_in_its_loops_last_moments_leaves_nothing_open(rounds: int) -> None:
    async with loopback(*[HI] * 4) as server:
        asking = model(server)
        await asyncio.gather(*(chunks_of(asking) for _ in range(4)))
        del asking
        for _ in range(rounds):
            await asyncio.sleep(0)
            gc.collect()


async def test_calls_side_by_side_share_one_client() -> None:
    async with loopback(*[HI] * 5) as server:
        asking = model(server)
        clients = await asyncio.gather(*(asking._clients.open() for _ in range(5)))
        await asyncio.gather(*(chunks_of(asking) for _ in range(5)))

    assert len({id(client) for client in clients}) == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"model": ""}, "name"),
    ({"client": object()}, "AsyncOpenAI"),
    ({"client": openai.OpenAI(api_key=KEY)}, "AsyncOpenAI"),
    ({"client": openai.AsyncOpenAI(api_key=KEY), "base_url": "http://x"}, "belong to the client"),
    ({"base_url": "localhost:8080/v1"}, "http://"),
    ({"tools": "grammar"}, "native"),
    ({"timeout": 0}, "more than 0"),
    ({"timeout": float("nan")}, "more than 0"),
    ({"options": {"messages": []}}, "messages"),
    ({"options": {"stream": False, "n": 2}}, "n, stream"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[words for _, words in WRONG])
def test_options_that_cannot_work_are_refused_when_it_is_made(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        OpenAIChat(**({"model": "gpt-test"} | options))


def test_a_model_is_named_after_its_provider() -> None:
    assert OpenAIChat("gpt-5.1").name == "openai:gpt-5.1"
    assert OpenAIChat("openai:gpt-5.1").name == "openai:gpt-5.1"
    assert OpenAIChat("llama3:8b", provider="local").name == "local:llama3:8b"


def test_a_model_does_not_show_its_key() -> None:
    assert KEY not in repr(OpenAIChat("gpt-test", api_key=KEY))


async def test_the_models_own_name_goes_over_the_wire() -> None:
    async with loopback(HI) as server:
        await chunks_of(model(server, provider="local"), asked())

    assert server.requests[0].body["model"] == "gpt-test"
