"""A model is one question, and a card says what is known of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from remit.models.pricing import Pricing
from remit.models.request import Chunk, ModelRequest
from remit.values.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is known of one model. `window` and `max_output` count tokens.

    Raises ConfigError for what is no Pricing or no number of tokens.
    """

    pricing: Pricing | None = None
    window: int | None = None
    max_output: int | None = None

    def __post_init__(self) -> None:
        if self.pricing is not None and not isinstance(self.pricing, Pricing):
            raise ConfigError(f"Card.pricing must be a Pricing, not {self.pricing!r}")
        for name in ("window", "max_output"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ConfigError(f"Card.{name} must be at least 1 token, not {value!r}")


class Model(Protocol):
    """Whatever answers a request in pieces. Retries, prices and assembling are not its business."""

    @property
    def name(self) -> str:
        """`provider:name`, as it stands in records."""
        ...

    @property
    def card(self) -> Card:
        """What it accepts and costs."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces. Raises ProviderError or ConnectionFailedError."""
        ...
