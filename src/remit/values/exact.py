"""Sums of money that no decimal context of the program's can round."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

_CONTEXT = Context(prec=100)


def from_nano(nano: int) -> Decimal:
    """So many billionths of the unit, as the shortest exact decimal."""
    places = 9
    if nano % 100_000 == 0:
        # Most amounts have few digits: half of the way in one step.
        nano, places = nano // 100_000, 4
    while places and nano % 10 == 0:
        nano, places = nano // 10, places - 1
    return _CONTEXT.scaleb(Decimal(nano), -places) if places else Decimal(nano)


def to_nano(amount: Decimal) -> int:
    """`amount` in billionths of the unit, rounded up; nothing for less than nothing."""
    scaled = _CONTEXT.scaleb(amount, 9).to_integral_value(ROUND_CEILING, _CONTEXT)
    return max(int(scaled), 0)


def add(one: Decimal, other: Decimal) -> Decimal:
    """The exact sum."""
    return _CONTEXT.add(one, other)
