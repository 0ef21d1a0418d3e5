"""What model calls used, in one shape for every provider."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from remit.values.exact import add


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Tokens and cost of one or more model calls.

    `input_tokens` is all of the input; `cache_read_tokens` and `cache_write_tokens` are parts of
    it, and `cache_write_long_tokens` the part of the writes that is kept for longer than is usual
    with their maker, such as an hour. `output_tokens` is all of the output, `reasoning_tokens` a
    part of it. `cost` is in the app's currency unit at its declared rates, None where no rates are
    declared. `estimated` marks what no report told, or one that contradicts itself.
    """

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Decimal | None = None
    estimated: bool = False
    cache_write_long_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=_sum(self.cost, other.cost),
            estimated=self.estimated or other.estimated,
            cache_write_long_tokens=self.cache_write_long_tokens + other.cache_write_long_tokens,
        )


def sound(told: Usage) -> Usage:
    """`told`, if no part of it exceeds its whole and nothing is negative; else clamped so that this
    holds, and marked as estimated. Cached reads come before cached writes."""
    whole, read, written = told.input_tokens, told.cache_read_tokens, told.cache_write_tokens
    long, made, reasoning = told.cache_write_long_tokens, told.output_tokens, told.reasoning_tokens
    if read >= 0 <= long <= written <= whole - read and 0 <= reasoning <= made:
        return told
    read = _within(read, whole)
    written = _within(written, whole - read)
    return Usage(
        input_tokens=max(whole, 0),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_long_tokens=_within(long, written),
        output_tokens=max(made, 0),
        reasoning_tokens=_within(reasoning, made),
        cost=told.cost,
        estimated=True,
    )


def _within(part: int, whole: int) -> int:
    return max(0, min(part, whole))


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    if one is None or other is None:
        return other if one is None else one
    return add(one, other)
