"""Amounts of money as they are declared."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from remit.values.errors import ConfigError

Amount = Decimal | int | str | float


def amount(value: Amount, name: str) -> Decimal:
    """`value` as an exact decimal of at least zero; 0.3 is three tenths, whatever floats say.

    Raises ConfigError, naming `name`, for what is no finite number of at least zero.
    """
    try:
        exact = value if isinstance(value, Decimal) else Decimal(str(value))
    except InvalidOperation:
        raise ConfigError(f"{name} must be a number, not {value!r}") from None
    if isinstance(value, bool) or not exact.is_finite() or exact < 0:
        raise ConfigError(f"{name} must be a finite number of at least 0, not {value!r}")
    return exact
