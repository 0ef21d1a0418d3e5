"""What tokens cost, at declared rates."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

from remit.values.money import Amount, amount, round_up
from remit.values.usage import Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """Rates in currency units per million tokens; exact decimals whatever they were given as.

    Cached reads and writes without a rate of their own cost the plain `input` rate.
    """

    input: Amount
    output: Amount
    cached_input: Amount | None = None
    cache_write: Amount | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached_input", "cache_write"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, amount(value, f"Pricing.{name}"))

    def cost(self, usage: Usage) -> Decimal:
        """What `usage` costs, rounded once, upward, to a billionth of the unit.

        A report whose parts exceed its whole is clamped: nothing is counted twice or below zero.
        """
        read = min(max(usage.cache_read_tokens, 0), max(usage.input_tokens, 0))
        written = min(max(usage.cache_write_tokens, 0), max(usage.input_tokens, 0) - read)
        plain = max(usage.input_tokens, 0) - read - written
        rate_in = Decimal(str(self.input))
        rate_read = rate_in if self.cached_input is None else Decimal(str(self.cached_input))
        rate_write = rate_in if self.cache_write is None else Decimal(str(self.cache_write))
        with localcontext() as context:
            context.prec = 60
            total = (
                plain * rate_in
                + read * rate_read
                + written * rate_write
                + max(usage.output_tokens, 0) * Decimal(str(self.output))
            ) / _MILLION
        return round_up(total)
