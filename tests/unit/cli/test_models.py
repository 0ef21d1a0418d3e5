"""The model that a command's options name."""

from __future__ import annotations

from typing import Any

import pytest

from remit.cli.models import Wanted, named, ready
from remit.errors import ConfigError
from remit.models.anthropic import AnthropicMessages
from remit.models.google import GoogleGemini
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.models.pricing import Pricing

URL = "http://127.0.0.1:8080"
SERVED: dict[str, Any] = {
    "anthropic": AnthropicMessages,
    "google": GoogleGemini,
    "openai": OpenAIChat,
    "openai-responses": OpenAIResponses,
}


@pytest.mark.parametrize("provider", SERVED)
def test_a_name_is_a_model_with_its_server_and_rates(provider: str) -> None:
    found: Any = named(Wanted(name=f"{provider}:large", base_url=URL, price="3,15"))

    assert type(found) is SERVED[provider]
    assert (found.name, found.base_url) == (f"{provider}:large", URL)
    assert found.card.pricing == Pricing(input=3, output=15)


@pytest.mark.parametrize("provider", sorted(SERVED.keys() - {"openai"}))
def test_replies_in_json_are_for_chat_completions_alone(provider: str) -> None:
    with pytest.raises(ConfigError, match="--json-tools"):
        named(Wanted(name=f"{provider}:large", json_tools=True))


def test_a_model_without_a_server_takes_no_address_of_one() -> None:
    with pytest.raises(ConfigError, match="--base-url names a server"):
        named(Wanted(name="local:model.gguf", base_url=URL))


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "no key for Gemini"),
        ("openai", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY"),
    ],
)
async def test_a_missing_key_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, provider: str, told: str
) -> None:
    for name in (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
        *("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
        *("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ConfigError, match=told):
        await ready(Wanted(name=f"{provider}:large"))
