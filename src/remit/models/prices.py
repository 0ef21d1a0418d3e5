"""Rates that a public price list suggests, for people to look at and to declare."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from importlib import metadata
from typing import Any, NamedTuple

from remit.models.pricing import Pricing
from remit.values.errors import ConfigError

_LIST = "genai-prices"
_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_long": "cache_write_1h_mtok",
}
_BRIDGE = "bridge:"
_LOCAL = "local:"
_SLOTS = 48
_CLOSE = 5
_PAGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What a price list says of the model `name`, in US dollars per million tokens.

    `listed` is the entry that `name` was found under, `window` how many tokens of input it takes,
    `pages` where its maker tells the prices, `notes` what the rates leave out.
    """

    name: str
    listed: str
    source: str
    asked: datetime
    pricing: Pricing
    window: int | None
    pages: tuple[str, ...]
    notes: tuple[str, ...]

    def declaration(self) -> str:
        """The rates as Python that declares them."""
        rates = ", ".join(f"{name}={_literal(rate)}" for name, rate in self.rates())
        return f"Pricing({rates})"

    def rates(self) -> Iterator[tuple[str, Decimal]]:
        """The rates that there are, by their names in Pricing."""
        for name in _RATES:
            rate = getattr(self.pricing, name)
            if rate is not None:
                yield name, rate


class _Range(NamedTuple):
    start: int
    rates: str


def suggest(name: str, *, now: datetime | None = None) -> Suggestion:
    """What the price list of the package genai-prices, as it is installed, says of the model
    `name`: `provider:name`, or the name alone. Nothing is fetched, and nothing uses it until it
    is declared.

    Raises ConfigError where the package is missing, and for a model that is not in the list, or
    there without rates for text.
    """
    if name.startswith(_LOCAL):
        raise ConfigError(
            f"{name!r} runs in your own process, and no list knows what that costs you: declare"
            " Pricing(input=0, output=0)"
        )
    snapshot = _snapshot()
    at = datetime.now(UTC) if now is None else now
    provider, model = _found(snapshot, name)
    entry = f"{provider.id}:{model.id}"
    prices, hourly = _prices(model, at)
    rates = {own: _plain(getattr(prices, theirs)) for own, theirs in _RATES.items()}
    if rates["input"] is None or rates["output"] is None:
        raise ConfigError(f"{_source()} has no rates for text input and output of {entry}")
    return Suggestion(
        name=name,
        listed=entry,
        source=_source(),
        asked=at,
        pricing=Pricing(**rates),  # type: ignore[arg-type]  # the two that must be there are
        window=model.context_window,
        pages=tuple((provider.pricing_urls or ())[:_PAGES]),
        notes=tuple(_notes(model, prices, hourly=hourly)),
    )


def _snapshot() -> Any:
    try:
        return importlib.import_module("genai_prices.data_snapshot").get_snapshot()
    except ImportError:
        raise ConfigError(
            "suggesting prices needs the genai-prices package: pip install '.[prices]' in a clone"
            " of remit"
        ) from None


def _source() -> str:
    return f"{_LIST} {metadata.version(_LIST)}"


def _found(snapshot: Any, name: str) -> tuple[Any, Any]:
    """The provider and its model. Raises ConfigError, with the names that are closest."""
    told = name.removeprefix(_BRIDGE)
    prefix, colon, rest = told.partition(":")
    provider = None
    if colon:
        try:
            provider = snapshot.find_provider(None, prefix, None)
        except LookupError:
            known = [one.id for one in snapshot.providers]
            raise ConfigError(_unknown(f"provider {prefix!r}", prefix, known)) from None
    try:
        found: tuple[Any, Any] = snapshot.find_provider_model(
            rest if colon else told, provider, None, None
        )
    except LookupError:
        where = [provider] if provider else snapshot.providers
        known = [f"{one.id}:{model.id}" for one in where for model in one.models]
        sought = f"{provider.id}:{rest}" if provider else told
        raise ConfigError(_unknown(f"model {name!r}", sought, known)) from None
    return found


def _unknown(what: str, sought: str, known: list[str]) -> str:
    # A name alone is compared with names alone, whosever they are.
    bare = {one if ":" in sought else one.partition(":")[2] or one: one for one in known}
    close = [bare[one] for one in difflib.get_close_matches(sought, bare, _CLOSE)]
    ending = f"; close to it: {', '.join(close)}" if close else ""
    return f"{_source()} knows no {what}{ending}. Declare what its maker's page says"


def _prices(model: Any, at: datetime) -> tuple[Any, bool]:
    """What holds at `at`; the dearest of that day where the price goes by the hour, and whether
    it does."""
    midnight = datetime.combine(at.astimezone(UTC).date(), time(), UTC)
    slots = [model.get_prices(midnight + timedelta(minutes=30 * slot)) for slot in range(_SLOTS)]
    if all(one == slots[0] for one in slots):
        return model.get_prices(at), False
    return max(slots, key=lambda one: (_plain(one.output_mtok) or 0, _plain(one.input_mtok))), True


def _plain(price: Any) -> Decimal | None:
    """A rate; that of short inputs where it goes by the length of the input."""
    found = getattr(price, "base", price)
    return found if isinstance(found, Decimal) else None


def _notes(model: Any, prices: Any, *, hourly: bool) -> Iterator[str]:
    if hourly:
        yield "its price goes by the time of day: these are the rates of the dearest hours"
    for tier in _ranges(prices):
        yield f"an input of more than {tier.start:,} tokens costs {tier.rates}"
    others = sorted(
        key for key, value in vars(prices).items() if value and key not in _RATES.values()
    )
    if others:
        yield f"not in these rates: {', '.join(others)}"
    if model.deprecated:
        yield "its maker calls it deprecated"


def _ranges(prices: Any) -> Iterator[_Range]:
    """What inputs above a length cost, shortest first."""
    found: dict[int, list[str]] = {}
    for own, theirs in _RATES.items():
        for tier in getattr(getattr(prices, theirs), "tiers", ()):
            found.setdefault(tier.start, []).append(f"{own}={_literal(tier.price)}")
    for start in sorted(found):
        yield _Range(start, ", ".join(found[start]))


def _literal(rate: Decimal) -> str:
    """A rate as it is written in code: quoted unless it is whole."""
    plain = format(rate.normalize(), "f")
    return plain if rate == rate.to_integral_value() else f'"{plain}"'
