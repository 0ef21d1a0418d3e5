"""A model is one question, and a card says what is known of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from remit.models.pricing import Pricing
from remit.models.request import Chunk, ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is known of one model. `window` and `max_output` count tokens."""

    pricing: Pricing | None = None
    window: int | None = None
    max_output: int | None = None


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
