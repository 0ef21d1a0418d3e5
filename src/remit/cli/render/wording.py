"""How values read: safe to print, the same everywhere."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

_JOINERS = frozenset("\u200c\u200d")
_LAYOUT = frozenset("\n\t")


def shown(text: str) -> str:
    """`text` with everything escaped that a terminal would obey or that would hide or turn
    around what a person reads, such as escape sequences and bidirectional overrides."""
    return "".join(_escaped(char) if _is_hidden(char) else char for char in text)


def one_line(text: str, most: int | None = None) -> str:
    """`text` on one line, cut after `most` characters."""
    flat = shown(" ".join(text.split()))
    if most is not None and len(flat) > most:
        return flat[: most - 1] + "…"
    return flat


def arguments(values: Mapping[str, Any]) -> str:
    """A call's arguments: `order="A-1042", amount="20.00"`."""
    return ", ".join(f"{shown(str(name))}={_json(value)}" for name, value in values.items())


def money(cost: Decimal | None) -> str:
    """A cost with all its digits; a dash where no rates are declared."""
    return "-" if cost is None else format(cost, "f")


def level(costs: Sequence[Decimal]) -> list[str]:
    """Costs with all their digits, and zeros behind them until their points line up."""
    told = [money(cost).partition(".") for cost in costs]
    places = max((len(rest) for _, _, rest in told), default=0)
    return [f"{units}.{rest:0<{places}}" if places else units for units, _, rest in told]


def moment(when: datetime | None) -> str:
    """A time as `2026-01-31T12:00:00Z`; a dash for none."""
    return "-" if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def count(number: int, thing: str, things: str | None = None) -> str:
    """`1 call`, `2 calls`; `things` is the plural where an s does not make it."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def span(seconds: float) -> str:
    """How long: `40 seconds`, `3 hours`, `12 days`, in the largest unit that fits twice."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return count(int(seconds // length), unit)
    return count(int(seconds), "second")


def _json(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=False, default=str))


def _is_hidden(char: str) -> bool:
    if char.isascii() and char.isprintable():
        return False
    if char in _LAYOUT or char in _JOINERS:
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
