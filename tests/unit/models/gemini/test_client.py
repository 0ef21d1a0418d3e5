"""Google's SDK is loaded late, never retries, and its connections end with the loop."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types

from remit.models.google import GoogleGemini
from remit.models.google.clients import Client
from remit.values.content import Text
from remit.values.errors import ConfigError, ProviderError
from tests.loopback import loopback, plain
from tests.unit.models.gemini.asking import (
    KEY,
    assembled,
    base_url,
    chunk,
    chunks_of,
    model,
    stream,
    text,
)

pytestmark = pytest.mark.slow

HI = stream(chunk(text("Hi"), finish="STOP"))
VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")
LATE = """
import asyncio, sys
from remit import Agent, App, Budget
from remit.errors import ConfigError

agent = Agent(name="a", model="google:gemini-x", budget=Budget(turns=1))
agent.plan(frozenset())
assert "google.genai" not in sys.modules

{block}
try:
    asyncio.run(agent.run("Hi"))
except ConfigError as error:
    print(error)
"""


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


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


def test_a_missing_key_is_told_before_the_call() -> None:
    told = said("")

    for mend in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "api_key=", "client="):
        assert mend in told


def test_a_missing_package_is_told_with_its_mend() -> None:
    told = said('sys.modules["google.genai"] = None', GEMINI_API_KEY=KEY)

    assert "pip install '.[google]'" in told


@pytest.mark.parametrize("variable", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
async def test_the_key_and_the_address_may_come_from_the_environment(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback(HI) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", base_url(server))
        asking = GoogleGemini("gemini-test")
        monkeypatch.setenv(variable, f"{KEY}\n")
        await chunks_of(asking)

    [sent] = server.requests
    assert sent.headers["x-goog-api-key"] == KEY
    assert sent.path.endswith("/models/gemini-test:streamGenerateContent?alt=sse")


async def test_a_server_of_ones_own_needs_no_key() -> None:
    async with loopback(HI) as server:
        answer = await assembled(model(server, api_key=None))

    assert answer.parts == [Text("Hi")]


async def test_vertex_in_the_environment_is_not_what_a_key_is_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    async with loopback(HI) as server:
        await chunks_of(model(server))

    assert server.requests[0].path.count("publishers") == 0


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_client_of_ones_own_is_used_without_retries_and_left_open(status: int) -> None:
    retries = types.HttpRetryOptions(attempts=5, initial_delay=0.01)
    async with loopback(plain({"error": {"message": "Oh"}}, status), HI) as server:
        options = types.HttpOptions(
            base_url=base_url(server),
            headers={"x-team": "desk"},
            retry_options=retries,
            api_version="v1beta",
        )
        client = genai.Client(api_key=KEY, http_options=options)
        asking = GoogleGemini("gemini-test", client=client)
        with pytest.raises(ProviderError):
            await chunks_of(asking)
        await chunks_of(asking)
        await client.aio.aclose()
        client.close()

    assert [sent.headers["x-team"] for sent in server.requests] == ["desk", "desk"]
    assert server.requests[0].path.startswith("/v1beta/models/gemini-test:")


async def test_a_client_for_vertex_goes_to_its_project(monkeypatch: pytest.MonkeyPatch) -> None:
    class Credentials:
        token, expired, quota_project_id = "ya29.token-0123", False, None

    async with loopback(HI) as server:
        client = genai.Client(
            vertexai=True,
            project="p-1",
            location="europe-west1",
            credentials=Credentials(),  # type: ignore[arg-type]  # what is read of credentials
            http_options=types.HttpOptions(base_url=base_url(server)),
        )
        answer = await assembled(GoogleGemini("gemini-test", provider="vertex", client=client))
        await client.aio.aclose()
        client.close()

    [sent] = server.requests
    assert answer.parts == [Text("Hi")]
    assert sent.headers["authorization"] == "Bearer ya29.token-0123"
    assert sent.path.endswith(
        "/projects/p-1/locations/europe-west1/publishers/google/models/gemini-test"
        ":streamGenerateContent?alt=sse"
    )


async def test_a_transport_of_ones_own_is_gone_through() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, content=b"".join(HI.pieces))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        options = types.HttpOptions(httpx_async_client=http)
        client = genai.Client(api_key=KEY, http_options=options)
        answer_ = await assembled(GoogleGemini("gemini-test", client=client))
        client.close()

    assert answer_.parts == [Text("Hi")]
    assert asked[0].url.host == "generativelanguage.googleapis.com"


async def test_a_client_that_cannot_send_is_told_so() -> None:
    client = genai.Client(api_key="auth_tokens/live-only-0123456789")

    with pytest.raises(ConfigError, match="cannot send") as caught:
        await chunks_of(GoogleGemini("gemini-test", client=client))
    client.close()
    await client.aio.aclose()

    assert "live-only" not in str(caught.value)


async def test_a_model_of_a_publisher_or_a_tuned_one_keeps_its_path() -> None:
    async with loopback(HI, HI) as server:
        for name in ("models/gemini-test", "tunedModels/desk-1"):
            await chunks_of(
                GoogleGemini(name, base_url=base_url(server), api_key=KEY, provider="g")
            )

    paths = [sent.path.partition(":")[0] for sent in server.requests]
    assert [path.split("/", 2)[2] for path in paths] == ["models/gemini-test", "tunedModels/desk-1"]


async def test_prepare_reads_the_key_before_the_first_call() -> None:
    with pytest.raises(ConfigError, match="GEMINI_API_KEY"):
        await GoogleGemini("gemini-test").prepare()


def closed(client: Client) -> bool:
    return bool(client._http is not None and client._http.is_closed)


def test_one_model_serves_one_loop_after_another_and_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking = GoogleGemini("gemini-test", api_key=KEY)
    served: list[Any] = []

    async def once() -> None:
        async with loopback(HI) as server:
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", base_url(server))
            await chunks_of(asking)
            served.append((await asking._clients.open(), server.connections))

    for _ in range(3):
        asyncio.run(once())
    gc.collect()  # what was left open would warn here, and a warning is an error

    assert [connections for _, connections in served] == [1, 1, 1]
    assert all(closed(client) for client, _ in served)


async def test_one_connection_serves_one_answer_after_another() -> None:
    async with loopback(HI, HI, HI) as server:
        asking = model(server)
        for _ in range(3):
            await chunks_of(asking)

        assert server.connections == 1


async def test_a_model_that_goes_long_before_its_loop_is_closed_soon() -> None:
    async with loopback(HI) as server:
        asking = model(server, timeout=5)
        await chunks_of(asking)
        client = await asking._clients.open()
        del asking
        async with asyncio.timeout(5):
            while not closed(client):
                gc.collect()
                await asyncio.sleep(0.05)


def test_the_key_is_not_shown() -> None:
    assert KEY not in repr(GoogleGemini("gemini-test", api_key=KEY))
