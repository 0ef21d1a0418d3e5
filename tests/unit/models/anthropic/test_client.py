"""Anthropic's SDK is loaded late, never retries, and its connections end with the loop."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import pytest

from remit.models.anthropic import AnthropicMessages
from remit.models.catalogue import Catalogue
from remit.models.protocol import Card
from remit.values.content import Text
from remit.values.errors import ConfigError, ProviderError
from tests.loopback import loopback, plain
from tests.unit.models.anthropic.asking import (
    KEY,
    assembled,
    begun,
    chunks_of,
    failing,
    finished,
    model,
    streamed,
    text,
    url,
)

HI = streamed(begun(), *text(0, "Hi"), *finished("end_turn"))
LATE = """
import asyncio, sys
from remit import Agent, App, Budget
from remit.errors import ConfigError

agent = Agent(name="a", model="anthropic:claude-x", budget=Budget(turns=1))
agent.plan(frozenset())
assert "anthropic" not in sys.modules

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
        env={"PATH": "", "PYTHONPATH": str(Path(__file__).parents[4] / "src")} | env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_a_missing_key_is_told_before_the_call() -> None:
    told = said("")

    for mend in ("ANTHROPIC_API_KEY", "api_key=", "client="):
        assert mend in told


def test_a_missing_package_is_told_with_its_mend() -> None:
    told = said('sys.modules["anthropic"] = None', ANTHROPIC_API_KEY=KEY)

    assert "pip install '.[anthropic]'" in told


@pytest.mark.slow
def test_a_key_that_cannot_be_sent_is_refused_unshown() -> None:
    told = said("", ANTHROPIC_API_KEY="sk-schlüssel")

    assert "copy it anew" in told
    assert "schlüssel" not in told


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without keys, tokens and profiles of the SDK's own."""
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "PROFILE", "CUSTOM_HEADERS", "CONFIG_DIR"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
async def test_the_key_and_the_address_may_come_from_the_environment(
    keyless: pytest.MonkeyPatch, name: str
) -> None:
    async with loopback(HI) as server:
        keyless.setenv("ANTHROPIC_BASE_URL", url(server))
        asking = AnthropicMessages("claude-test")
        keyless.setenv(name, "sk-later\n")
        await chunks_of(asking)

    headers = server.requests[0].headers
    assert "sk-later" in headers.get("authorization", "") + headers.get("x-api-key", "")
    assert headers["anthropic-version"] == "2026-10-21"
    assert server.requests[0].path == "/v1/messages"


async def test_a_server_of_ones_own_needs_no_key(keyless: pytest.MonkeyPatch) -> None:
    async with loopback(HI) as server:
        answer = await assembled(model(server, api_key=None))

    assert answer.parts == [Text("Hi")]


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
async def test_an_address_may_hold_the_versions_path(end: str) -> None:
    async with loopback(HI) as server:
        await chunks_of(model(server, base_url=f"{url(server)}/proxy{end}"))

    assert server.requests[0].path == "/proxy/v1/messages"


async def test_a_client_of_ones_own_is_used_without_retries() -> None:
    async with (
        loopback(plain(failing("api_error"), 500), HI) as server,
        anthropic.AsyncAnthropic(
            api_key=KEY, base_url=url(server), max_retries=5, default_headers={"x-team": "desk"}
        ) as client,
    ):
        asking = AnthropicMessages("claude-test", client=client)
        with pytest.raises(ProviderError):
            await chunks_of(asking)
        await chunks_of(asking)

        assert not client.is_closed()
        assert client.max_retries == 5
    assert [request.headers["x-team"] for request in server.requests] == ["desk", "desk"]


PLATFORMS: dict[str, tuple[str, dict[str, Any], str]] = {
    "Foundry": ("AsyncAnthropicFoundry", {"api_key": KEY}, "/v1/messages"),
    "Bedrock": (
        "AsyncAnthropicBedrockMantle",
        {"api_key": KEY, "aws_region": "eu-central-1"},
        "/v1/messages",
    ),
    "Google Cloud": (
        "AsyncAnthropicVertex",
        {"access_token": KEY, "region": "eu", "project_id": "p"},
        "/projects/p/locations/eu/publishers/anthropic/models/claude-test:streamRawPredict",
    ),
}


@pytest.mark.parametrize(("kind", "options", "path"), PLATFORMS.values(), ids=PLATFORMS)
async def test_a_client_of_another_platform_goes_its_own_way(
    kind: str, options: dict[str, Any], path: str
) -> None:
    async with (
        loopback(HI) as server,
        getattr(anthropic, kind)(base_url=url(server), **options) as client,
    ):
        answer = await assembled(AnthropicMessages("claude-test", client=client))

    assert answer.parts == [Text("Hi")]
    assert server.requests[0].path == path


async def test_a_token_of_a_clients_own_is_hidden() -> None:
    echo = plain(failing("authentication_error", "no: hunter2-hunter2"), 401)
    async with (
        loopback(echo) as server,
        anthropic.AsyncAnthropic(auth_token="hunter2-hunter2", base_url=url(server)) as client,
    ):
        with pytest.raises(ProviderError) as caught:
            await chunks_of(AnthropicMessages("claude-test", client=client))

    assert caught.value.message == "no: [hidden]"


async def test_a_client_without_a_key_is_told_so(keyless: pytest.MonkeyPatch) -> None:
    async with anthropic.AsyncAnthropic() as client:
        with pytest.raises(ConfigError, match="has no key"):
            await AnthropicMessages("claude-test", client=client).prepare()


async def test_a_client_whose_stream_is_of_another_format_is_refused() -> None:
    client = anthropic.AsyncAnthropicBedrock(aws_region="eu-central-1", api_key=KEY)

    with pytest.raises(ConfigError, match="AsyncAnthropicBedrockMantle"):
        await AnthropicMessages("claude-test", client=client).prepare()
    await client.close()


@pytest.mark.slow
def test_one_model_serves_one_loop_after_another_and_leaves_nothing_open(
    keyless: pytest.MonkeyPatch,
) -> None:
    asking = AnthropicMessages("claude-test", api_key=KEY)
    served: list[Any] = []

    async def once() -> None:
        async with loopback(HI, HI) as server:
            keyless.setenv("ANTHROPIC_BASE_URL", url(server))
            await chunks_of(asking)
            await chunks_of(asking)
            served.append((await asking._clients.open(), server.connections))

    for _ in range(3):
        asyncio.run(once())
    gc.collect()  # what was left open would warn here, and a warning is an error

    assert [connections for _, connections in served] == [1, 1, 1]
    assert all(client.is_closed() for client, _ in served)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"model": ""}, "name"),
    ({"client": object()}, "AsyncAnthropic"),
    ({"client": anthropic.Anthropic(api_key=KEY)}, "AsyncAnthropic"),
    ({"client": anthropic.AsyncAnthropic(api_key=KEY), "api_key": KEY}, "belong to the client"),
    ({"base_url": "localhost:8080"}, "http://"),
    ({"timeout": 0}, "more than 0"),
    ({"timeout": float("nan")}, "more than 0"),
    ({"thinking": "much"}, "adaptive"),
    ({"thinking": 100}, "at least 1,024 tokens"),
    ({"thinking": True}, "adaptive"),
    ({"thinking": 2_000, "options": {"thinking": {"type": "adaptive"}}}, "not both"),
    ({"output": "json"}, "schema"),
    ({"cache": "2h"}, "5m"),
    ({"options": {"messages": [], "cache_control": {}}}, "cache_control, messages"),
    ({"options": {"tools": [{"type": "web_search_20260209"}]}}, "cannot hold tools"),
    ({"options": {"mcp_servers": []}}, "runs itself"),
    ({"options": {"temperature": 0}}, "2026-10-21"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[words for _, words in WRONG])
def test_options_that_cannot_work_are_refused_when_it_is_made(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        AnthropicMessages(**({"model": "claude-test"} | options))


def test_a_model_is_named_after_its_provider() -> None:
    assert AnthropicMessages("claude-opus-5-5").name == "anthropic:claude-opus-5-5"
    assert AnthropicMessages("anthropic:claude-opus-5-5").model == "claude-opus-5-5"
    assert AnthropicMessages("kimi-k3", provider="moonshot").name == "moonshot:kimi-k3"


def test_a_model_does_not_show_its_key() -> None:
    assert KEY not in repr(AnthropicMessages("claude-test", api_key=KEY))


def test_a_name_of_anthropics_is_a_model_with_its_card() -> None:
    card = Card(window=200_000)

    found = Catalogue({"anthropic:claude-test": card}).model("anthropic:claude-test")

    assert isinstance(found, AnthropicMessages)
    assert (found.name, found.model, found.card) == ("anthropic:claude-test", "claude-test", card)
