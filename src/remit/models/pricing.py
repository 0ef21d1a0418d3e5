"""What tokens cost, at declared rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import MAX_PREC, Context, Decimal

from remit.values.exact import from_nano
from remit.values.money import Amount, amount
from remit.values.usage import Usage, sound

_MILLION_IN_NANO = 3
"""A rate per million tokens, in billionths a token, has this many digits more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """Rates in currency units per million tokens; exact decimals whatever they were given as.

    Cached reads and writes without a rate of their own cost the plain `input` rate, and writes
    that are kept long (an hour, where five minutes are usual) without one cost what writes do.
    """

    input: Amount
    output: Amount
    cached_input: Amount | None = None
    cache_write: Amount | None = None
    cache_write_long: Amount | None = None
    _rates: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _digits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached_input", "cache_write", "cache_write_long"):
            value = getattr(self, name)
            if value is not None or name in ("input", "output"):
                object.__setattr__(self, name, amount(value, f"Pricing.{name}"))
        written = self.input if self.cache_write is None else self.cache_write
        long = written if self.cache_write_long is None else self.cache_write_long
        read = self.input if self.cached_input is None else self.cached_input
        exact = [Decimal(str(rate)) for rate in (self.input, self.output, read, written, long)]
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
        rate, rate_out, rate_read, rate_write, rate_long = self._rates
        usage = sound(usage)
        whole, read, written = usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        long = usage.cache_write_long_tokens
        total = (
            (whole - read - written) * rate
            + read * rate_read
            + (written - long) * rate_write
            + long * rate_long
            + usage.output_tokens * rate_out
        )
        return self._rounded(total)

    def _rounded(self, total: int) -> Decimal:
        shift = _MILLION_IN_NANO - self._digits
        return from_nano(total * 10**shift if shift >= 0 else -(-total // 10**-shift))


def _shifted(rate: Decimal, digits: int) -> int:
    """`rate` as a whole number of units of its `digits`-th decimal place."""
    return int(rate.scaleb(digits, Context(prec=MAX_PREC)))
