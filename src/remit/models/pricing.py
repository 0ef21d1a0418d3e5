"""What tokens cost, at declared rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import MAX_PREC, Context, Decimal

from remit.values.exact import from_nano
from remit.values.money import Amount, amount
from remit.values.usage import Usage

_MILLION_IN_NANO = 3
"""A rate per million tokens, in billionths a token, has this many digits more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """Rates in currency units per million tokens; exact decimals whatever they were given as.

    Cached reads and writes without a rate of their own cost the plain `input` rate.
    """

    input: Amount
    output: Amount
    cached_input: Amount | None = None
    cache_write: Amount | None = None
    _rates: tuple[int, int, int, int] = field(init=False, repr=False, compare=False)
    _digits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached_input", "cache_write"):
            value = getattr(self, name)
            if value is not None or name in ("input", "output"):
                object.__setattr__(self, name, amount(value, f"Pricing.{name}"))
        given = (self.input, self.output, self.cached_input, self.cache_write)
        exact = [Decimal(str(self.input if rate is None else rate)) for rate in given]
        digits = max(0, *(-int(rate.as_tuple().exponent) for rate in exact))
        object.__setattr__(self, "_digits", digits)
        object.__setattr__(self, "_rates", tuple(_shifted(rate, digits) for rate in exact))

    @property
    def free(self) -> bool:
        """Whether every rate is 0."""
        return not any(self._rates)

    def cost(self, usage: Usage) -> Decimal:
        """What `usage` costs, rounded once, upward, to a billionth of the unit.

        A report whose parts exceed its whole is clamped: nothing is counted twice or below zero.
        """
        whole = max(usage.input_tokens, 0)
        if not usage.cache_read_tokens and not usage.cache_write_tokens:
            return self._rounded(
                whole * self._rates[0] + max(usage.output_tokens, 0) * self._rates[1]
            )
        read = min(max(usage.cache_read_tokens, 0), whole)
        written = min(max(usage.cache_write_tokens, 0), whole - read)
        rate, rate_out, rate_read, rate_write = self._rates
        total = (
            (whole - read - written) * rate
            + read * rate_read
            + written * rate_write
            + max(usage.output_tokens, 0) * rate_out
        )
        return self._rounded(total)

    def _rounded(self, total: int) -> Decimal:
        shift = _MILLION_IN_NANO - self._digits
        return from_nano(total * 10**shift if shift >= 0 else -(-total // 10**-shift))


def _shifted(rate: Decimal, digits: int) -> int:
    """`rate` as a whole number of units of its `digits`-th decimal place."""
    return int(rate.scaleb(digits, Context(prec=MAX_PREC)))
