"""Which models there are, what each accepts and what it costs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from remit.models.protocol import Card, Model
from remit.values.errors import ConfigError

_NAME = re.compile(r"[a-z][a-z0-9_-]*:\S+")


class Catalogue:
    """Cards by `provider:name`. Making one, and looking up a name, loads no provider's SDK."""

    def __init__(self, cards: Mapping[str, Card] | None = None) -> None:
        self._cards = dict(cards or {})
        for name, card in self._cards.items():
            check_name(name)
            if not isinstance(card, Card):
                raise ConfigError(f"the catalogue needs a Card for {name!r}, not {card!r}")

    def card(self, name: str) -> Card:
        """The card of the model `name`; an empty one for a name that has none."""
        return self._cards.get(name, Card())

    def model(self, name: str) -> Model:
        """The model `name`. Raises ConfigError: this version brings no provider's adapter."""
        raise ConfigError(
            f"no adapter for {name!r}: this version of remit brings none for providers yet;"
            " give Agent(model=…) an object with `name`, `card` and `stream`"
        )


def check_name(name: str) -> None:
    """Raise ConfigError unless `name` is `provider:name`."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(
            f"{name!r} names no model: write provider:name, like 'anthropic:claude-sonnet-5-5'"
        )
