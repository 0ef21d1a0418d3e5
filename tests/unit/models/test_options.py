"""What the options of every adapter may be, checked when a model is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from remit.errors import ConfigError
from remit.models.anthropic import AnthropicMessages
from remit.models.bridge import Bridge
from remit.models.google import GoogleGemini
from remit.models.local import LocalModel
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses

SERVERS: list[Callable[..., Any]] = [OpenAIChat, OpenAIResponses, AnthropicMessages, GoogleGemini]
KEY = b"sk-test-0123456789"


def local(model: str, **options: Any) -> LocalModel:
    return LocalModel(path=model, **options)


@pytest.mark.parametrize("adapter", [*SERVERS, Bridge, local])
@pytest.mark.parametrize("timeout", ["5", None, True, 0, -1, math.nan, math.inf, [5]])
def test_a_timeout_is_a_number_of_seconds(adapter: Callable[..., Any], timeout: Any) -> None:
    with pytest.raises(ConfigError, match=r"timeout must be a number of seconds, more than 0, not"):
        adapter("m", timeout=timeout)


@pytest.mark.parametrize("adapter", [*SERVERS, Bridge, local])
@pytest.mark.parametrize("given", [None, "temperature", ["temperature"], {5: 0}])
def test_further_fields_are_a_mapping(adapter: Callable[..., Any], given: Any) -> None:
    name = "settings" if adapter is Bridge else "options"
    with pytest.raises(ConfigError, match=f"{name} must be a mapping"):
        adapter("m", **{name: given})


@pytest.mark.parametrize("adapter", [*SERVERS, Bridge, local])
def test_a_card_is_one(adapter: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="card must be a Card"):
        adapter("m", card={"window": 5})


@pytest.mark.parametrize("adapter", SERVERS)
@pytest.mark.parametrize("url", [5, b"http://x", "", "localhost:8080"])
def test_an_address_is_a_text_that_begins_as_one(adapter: Callable[..., Any], url: Any) -> None:
    with pytest.raises(ConfigError, match="base_url must begin with http://"):
        adapter("m", base_url=url)


@pytest.mark.parametrize("adapter", SERVERS)
def test_a_key_is_text_and_is_not_shown(adapter: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="api_key must be text, and is bytes") as caught:
        adapter("m", api_key=KEY)

    assert "0123456789" not in str(caught.value)


@pytest.mark.parametrize("adapter", SERVERS)
@pytest.mark.parametrize("provider", [None, 5, ""])
def test_a_provider_is_text(adapter: Callable[..., Any], provider: Any) -> None:
    with pytest.raises(ConfigError, match="provider must be text"):
        adapter("m", provider=provider)


@pytest.mark.parametrize("thinking", [True, "much", [1], {"budget": 5}])
@pytest.mark.parametrize("adapter", [AnthropicMessages, GoogleGemini])
def test_thinking_is_what_the_adapter_takes(adapter: Callable[..., Any], thinking: Any) -> None:
    with pytest.raises(ConfigError, match="thinking must be"):
        adapter("m", thinking=thinking)


@pytest.mark.parametrize("option", ["effort", "summary"])
def test_effort_and_summary_are_words(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option} must be a word"):
        SERVERS[1]("m", **{option: 5})


def test_a_dialect_is_one() -> None:
    with pytest.raises(ConfigError, match="dialect must be a Dialect"):
        OpenAIChat("m", dialect="mistral")  # type: ignore[arg-type]  # this is what is refused
