"""A price list suggests rates; nothing counts at them until they are declared."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from remit import Card, Catalogue, Pricing, Usage
from remit.models.prices import suggest
from remit.testing import no_network
from remit.values.errors import ConfigError

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_suggestion_is_made_offline_and_says_where_it_is_from() -> None:
    with no_network():
        found = suggest("anthropic:claude-opus-4-8", now=NOON)

    assert (found.listed, found.asked) == ("anthropic:claude-opus-4-8", NOON)
    assert found.source.startswith("genai-prices ")
    assert found.window == 1_000_000
    assert found.pages[0].startswith("https://")
    assert found.pricing == Pricing(
        input=5, output=25, cached_input="0.5", cache_write="6.25", cache_write_long=10
    )


def test_what_is_printed_declares_the_same_rates() -> None:
    for name in ("anthropic:claude-opus-4-8", "openai:gpt-5.1", "groq:llama-3.3-70b-versatile"):
        found = suggest(name)

        assert eval(found.declaration(), {"Pricing": Pricing}) == found.pricing


def test_a_rate_that_is_not_listed_is_left_out_and_not_zero() -> None:
    found = suggest("openai:gpt-5.1").pricing

    assert (found.cached_input, found.cache_write) == (Decimal("0.125"), None)


def test_the_list_and_declared_rates_agree_on_a_price() -> None:
    import genai_prices

    priced: Any = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=10_000,
            cache_read_tokens=8_000,
            cache_write_tokens=1_000,
            output_tokens=500,
        ),
        model_ref="claude-opus-4-8",
        provider_id="anthropic",
    )
    used = Usage(
        input_tokens=10_000, cache_read_tokens=8_000, cache_write_tokens=1_000, output_tokens=500
    )

    assert suggest("anthropic:claude-opus-4-8").pricing.cost(used) == priced.total_price


def test_a_name_alone_and_one_behind_the_bridge_are_found() -> None:
    assert suggest("gpt-5.1").listed == "openai:gpt-5.1"
    assert suggest("bridge:openai:gpt-5.1").listed == "openai:gpt-5.1"


def test_rates_that_go_by_the_hour_are_those_of_the_dearest() -> None:
    night = suggest("deepseek:deepseek-chat", now=NOON.replace(hour=20))
    day = suggest("deepseek:deepseek-chat", now=NOON)

    assert night.pricing == day.pricing
    assert night.pricing.input == Decimal("0.27")
    assert any("time of day" in note for note in night.notes)


def test_a_price_that_has_changed_is_that_of_the_day() -> None:
    before = suggest("openai:o3", now=datetime(2025, 6, 9, tzinfo=UTC))
    after = suggest("openai:o3", now=NOON)

    assert (before.pricing.input, after.pricing.input) == (10, 2)
    assert not any("time of day" in note for note in after.notes)


def test_what_long_inputs_cost_is_told_beside_the_rates() -> None:
    found = suggest("anthropic:claude-sonnet-4-5")

    assert found.pricing.input == 3
    assert any("200,000" in note and "input=6" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai:gpt-5.11x", "close to it: openai:gpt-5.1"),
        ("gpt-5.11x", "close to it: openai:gpt-5.1"),
        ("opennai:gpt-5.1", "no provider 'opennai'; close to it: openai"),
        ("openai:whisper-1", "no rates for text"),
        ("local:model.gguf", r"Pricing\(input=0, output=0\)"),
        ("", "knows no model"),
        ("openai:", "knows no model"),
    ],
)
def test_what_is_not_in_the_list_is_told_with_what_is_close(name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        suggest(name)


def test_without_the_package_the_mend_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)

    with pytest.raises(ConfigError, match=r"pip install '\.\[prices\]'"):
        suggest("openai:gpt-5.1")


def test_no_card_has_a_price_that_was_not_declared() -> None:
    assert Catalogue().model("openai:gpt-5.1").card == Card(pricing=None)
