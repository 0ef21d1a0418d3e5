"""Money: declared rates, exact decimals, one rounding, upward."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit import Card, Catalogue, Pricing, Usage
from remit.errors import ConfigError
from remit.values import codec

SONNET = Pricing(input=3, output=15, cached_input="0.3", cache_write="3.75")
HOURS = Pricing(input=3, output=15, cached_input="0.3", cache_write="3.75", cache_write_long=6)
tokens = st.integers(min_value=-5, max_value=10**9)


def test_cached_tokens_are_parts_of_the_input_and_counted_once() -> None:
    usage = Usage(
        input_tokens=10_007, cache_read_tokens=9_000, cache_write_tokens=1_000, output_tokens=500
    )
    exact = Decimal(7 * 3 + 500 * 15) + 9_000 * Decimal("0.3") + 1_000 * Decimal("3.75")
    assert SONNET.cost(usage) == exact / 1_000_000


def test_a_report_of_mostly_cached_tokens_has_its_exact_price() -> None:
    usage = Usage(
        input_tokens=1 + 225 + 965_602,
        cache_read_tokens=965_602,
        cache_write_tokens=225,
        output_tokens=82,
    )
    assert SONNET.cost(usage) == Decimal("0.29175735")


def test_more_cached_tokens_than_input_are_clamped() -> None:
    usage = Usage(input_tokens=56_322, cache_read_tokens=72_960)
    assert SONNET.cost(usage) == SONNET.cost(Usage(input_tokens=56_322, cache_read_tokens=56_322))


def test_cached_reads_come_first_where_reads_and_writes_exceed_the_input() -> None:
    usage = Usage(input_tokens=100, cache_read_tokens=80, cache_write_tokens=80)
    exact = Usage(input_tokens=100, cache_read_tokens=80, cache_write_tokens=20)
    assert SONNET.cost(usage) == SONNET.cost(exact)


@given(tokens, tokens, tokens, tokens, tokens, tokens)
def test_no_report_costs_less_than_nothing_or_more_than_its_dearest_rate(
    input: int, read: int, written: int, long: int, output: int, reasoning: int
) -> None:
    usage = Usage(
        input_tokens=input,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_long_tokens=long,
        output_tokens=output,
        reasoning_tokens=reasoning,
    )
    most = (max(input, 0) * Decimal("6") + max(output, 0) * 15) / 1_000_000
    assert 0 <= HOURS.cost(usage) <= most + Decimal("1e-9")


def test_what_is_kept_long_is_a_part_of_what_is_written_and_has_a_rate_of_its_own() -> None:
    usage = Usage(input_tokens=1_000, cache_write_tokens=900, cache_write_long_tokens=200)
    assert HOURS.cost(usage) == Decimal("0.0041250")  # 100 at 3, 700 at 3.75, 200 at 6


def test_what_is_kept_long_costs_what_writes_do_where_it_has_no_rate() -> None:
    usage = Usage(input_tokens=1_000, cache_write_tokens=900, cache_write_long_tokens=200)
    assert SONNET.cost(usage) == SONNET.cost(Usage(input_tokens=1_000, cache_write_tokens=900))


def test_more_kept_long_than_was_written_is_clamped() -> None:
    usage = Usage(input_tokens=1_000, cache_write_tokens=100, cache_write_long_tokens=900)
    exact = Usage(input_tokens=1_000, cache_write_tokens=100, cache_write_long_tokens=100)
    assert HOURS.cost(usage) == HOURS.cost(exact)


def test_reasoning_costs_nothing_of_its_own() -> None:
    usage = Usage(output_tokens=100)
    assert SONNET.cost(usage) == SONNET.cost(Usage(output_tokens=100, reasoning_tokens=90))


def test_a_missing_rate_is_the_plain_one() -> None:
    plain = Pricing(input=3, output=15)
    usage = Usage(input_tokens=100, cache_read_tokens=60, cache_write_tokens=30)
    assert plain.cost(usage) == Decimal("0.0003")


def test_a_rate_of_nothing_is_no_missing_rate() -> None:
    free = Pricing(input=3, output=15, cached_input=0)
    assert free.cost(Usage(input_tokens=100, cache_read_tokens=100)) == 0
    kept = Pricing(input=3, output=15, cache_write=4, cache_write_long=0)
    written = Usage(input_tokens=100, cache_write_tokens=100, cache_write_long_tokens=100)
    assert kept.cost(written) == 0


def test_a_cost_is_rounded_once_and_upward() -> None:
    assert Pricing(input="0.0001", output=0).cost(Usage(input_tokens=1)) == Decimal("1e-9")
    assert Pricing(input="0.0015", output="0.0015").cost(
        Usage(input_tokens=1, output_tokens=1)
    ) == Decimal("3e-9")


def test_ten_thousand_costs_of_a_millionth_are_a_hundredth() -> None:
    one = Usage(input_tokens=1, cost=Pricing(input=1, output=1).cost(Usage(input_tokens=1)))
    total = Usage()
    for _ in range(10_000):
        total = total + one
    assert total.cost == Decimal("0.01")
    assert codec.decode(codec.encode(total), Usage) == total


def test_money_is_exact_in_a_program_that_calculates_with_few_digits() -> None:
    with decimal.localcontext() as context:
        context.prec = 3
        cost = SONNET.cost(Usage(input_tokens=1_234_567, output_tokens=1))
        total = Usage(cost=Decimal("1234.56789")) + Usage(cost=Decimal("0.000000001"))
    assert cost == Decimal("3.703716")
    assert total.cost == Decimal("1234.567890001")


def test_a_cost_reads_like_money() -> None:
    """Whole amounts are not shown as powers of ten."""
    assert str(Pricing(input=10, output=0).cost(Usage(input_tokens=1_000_000))) == "10"
    assert str(Pricing(input="0.5", output=0).cost(Usage(input_tokens=1_000_000))) == "0.5"
    assert str(Pricing(input=0, output=0).cost(Usage(input_tokens=1))) == "0"


@pytest.mark.parametrize("rate", [-1, "much", math.nan, math.inf, None, True, [3], Decimal("NaN")])
def test_a_rate_that_is_no_amount_is_refused(rate: Any) -> None:
    with pytest.raises(ConfigError, match=r"Pricing\.input"):
        Pricing(input=rate, output=1)


@pytest.mark.parametrize("name", ["output", "cached_input", "cache_write", "cache_write_long"])
def test_each_rate_is_checked_under_its_name(name: str) -> None:
    rates: dict[str, Any] = {"input": 1, "output": 1, name: math.nan}
    with pytest.raises(ConfigError, match=rf"Pricing\.{name} "):
        Pricing(**rates)


def test_a_float_rate_means_the_digits_that_were_written() -> None:
    assert Pricing(input=0.3, output=0.1) == Pricing(input="0.3", output=Decimal("0.1"))


@pytest.mark.parametrize("name", ["sonnet", "a: b", ":b", "a:", "A:b", "a:b\n", "", None, 5])
def test_a_catalogue_refuses_what_names_no_model(name: Any) -> None:
    with pytest.raises(ConfigError, match="provider:name"):
        Catalogue({name: Card()})


@pytest.mark.parametrize("card", [None, {}, Pricing(input=1, output=1), 3])
def test_a_catalogue_holds_cards(card: Any) -> None:
    with pytest.raises(ConfigError, match="Card"):
        Catalogue({"a:b": card})


def test_a_catalogue_does_not_change_with_what_it_was_made_of() -> None:
    given = {"a:b": Card(window=5)}
    catalogue = Catalogue(given)
    given["a:b"] = Card(window=6)
    assert catalogue.card("a:b").window == 5


@pytest.mark.parametrize("options", [{"pricing": 3}, {"window": 0}, {"max_output": -1}])
def test_a_wrong_card_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Card"):
        Card(**options)
