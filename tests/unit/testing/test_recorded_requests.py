"""What the vendors took, as it was recorded, is taken by the rules.

The recordings lie beside the checkout, where they are not part of it; without them this skips.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from remit.testing.provider.anthropic_rules import RULES
from remit.testing.provider.openai_rules import refused_by_openai
from remit.testing.provider.refusal import first
from remit.testing.provider.responses_rules import RULES as RESPONSES

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parents[4] / "shared" / "wire"
OWN = {
    "test_mistral__test_mistral_history_uses_prompt_cache": "messages[2].prefix",
    "test_openrouter__test_openrouter_streaming_reasoning": "supplied: reasoning",
    "test_zai__test_zai_thinking_stream": "supplied: thinking",
}
"""Other servers took fields of their own."""
JOINED = {"test_anthropic__test_anthropic_model_retrying_after_empty_response": "alternate"}
"""Anthropic took two messages of the user in a row; others that serve its models refuse them."""
BEYOND = {
    "test_deepseek_responses__test_deepseek_responses[function_tool_stream]": "got null instead",
    "test_openai_responses__test_background_mode_streaming_continuation_vcr": "'background'",
    "test_openai_responses__test_openai_responses_model_retry": "empty string",
    "test_openai_responses__test_openai_responses_model_simple_response_with_tool_call": "got null",
    "test_openai_responses__test_openai_responses_model_web_search_tool_stream": "previous_",
    "test_openai_responses__test_openai_responses_streaming_usage": "previous_response_id",
    "test_tool_search__test_openai_client_tool_search_streaming": "Invalid value: 'tool_search",
}
"""Responses that keep what the server stores or runs, which remit never sends, or say nothing."""


def taken(address: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The requests to `address` that were answered with status 200, and who recorded them."""
    if not WIRE.is_dir():
        pytest.skip("absent: the recordings of real servers")
    for place in sorted(WIRE.glob("*.yaml")):
        for each in yaml.safe_load(place.read_text())["interactions"]:
            sent = each["request"]
            posted = sent["method"] == "POST" and address in sent["uri"]
            if posted and each["response"]["status"]["code"] == 200:
                yield place.stem, sent["parsed_body"]


def test_recorded_chat_completions_pass() -> None:
    found = 0
    for name, body in taken("/chat/completions"):
        refusal = refused_by_openai(body, also=("reasoning_content",))
        if refusal is not None:
            assert OWN.get(name, "no field of its own") in refusal.message
        found += 1
    assert found > 20


def test_recorded_anthropic_messages_pass() -> None:
    found = 0
    for name, body in taken("api.anthropic.com/v1/messages?"):
        refusal = first(RULES, body)  # whether it is signed is Anthropic's to know
        if refusal is not None:
            assert JOINED.get(name, "no such thing") in refusal.message
        found += 1
    assert found > 15


def test_recorded_responses_pass() -> None:
    found, refused = 0, set()
    for name, body in taken("/responses"):
        refusal = first(RESPONSES, body)  # what is encrypted is its maker's to know
        if refusal is not None:
            assert BEYOND.get(name, "no such thing") in refusal.message
            refused.add(name)
        found += 1
    assert found > 20
    assert refused == BEYOND.keys()
