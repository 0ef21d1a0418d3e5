"""The model that a command's options name."""

from __future__ import annotations

import pytest

from remit.cli.models import Wanted, named, ready
from remit.errors import ConfigError
from remit.models.google import GoogleGemini
from remit.models.openai_responses import OpenAIResponses

URL = "http://127.0.0.1:8080/v1"


def test_a_server_that_speaks_responses_may_be_named() -> None:
    model = named(Wanted(name="openai-responses:gpt-test", base_url=URL, price="3,15"))

    assert isinstance(model, OpenAIResponses)
    assert (model.name, model.base_url) == ("openai-responses:gpt-test", URL)
    assert model.card.pricing is not None


def test_responses_have_tools_of_their_own() -> None:
    with pytest.raises(ConfigError, match="Chat Completions"):
        named(Wanted(name="openai-responses:gpt-test", json_tools=True))


async def test_a_missing_key_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        await ready(Wanted(name="openai-responses:gpt-test"))


def test_a_gemini_model_is_asked_at_the_server_that_is_named_at_the_price_that_is_told() -> None:
    model = named(
        Wanted(name="google:gemini-test", base_url=URL.removesuffix("/v1"), price="0.3,2.5")
    )

    assert isinstance(model, GoogleGemini)
    assert (model.name, model.base_url) == ("google:gemini-test", URL.removesuffix("/v1"))
    assert model.card.pricing is not None


def test_json_tools_are_for_openais_interface() -> None:
    with pytest.raises(ConfigError, match="--json-tools"):
        named(Wanted(name="google:gemini-test", json_tools=True))


async def test_a_key_that_is_missing_is_told_before_the_first_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)

    with pytest.raises(ConfigError, match="no key for Gemini"):
        await ready(Wanted(name="google:gemini-test"))
