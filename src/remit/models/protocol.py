"""A model is one question, and a card says what is known of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Protocol

from remit.models.pricing import Pricing
from remit.models.request import Chunk, ModelRequest
from remit.values.errors import ConfigError

_CONTENT = re.compile("text|image|pdf")
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_MENDS = {"accepts": "text, image and pdf", "hosts": "whole names like 'files.example.com'"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is known of one model. `window` and `max_output` count tokens.

    `accepts` is what its messages may hold: `text`, `image`, `pdf`. URLs of images and PDFs are
    handed to it only if their host is one of `hosts`. `image_tokens` and `pdf_tokens` are what one
    of them counts for where tokens are estimated. A model that is not `enabled` is not asked: the
    next of its agent's takes over. `structured` says that its provider keeps answers to a JSON
    Schema, also beside tools; some adapters know without it and do not look at it. Raises
    ConfigError for what is no Pricing, no number of tokens, no such content, no host and no bool.
    """

    pricing: Pricing | None = None
    window: int | None = None
    max_output: int | None = None
    accepts: Iterable[str] = frozenset({"text"})
    hosts: Iterable[str] = frozenset()
    image_tokens: int = 1_600
    pdf_tokens: int = 30_000
    enabled: bool = True
    structured: bool = False

    def __post_init__(self) -> None:
        if self.pricing is not None and not isinstance(self.pricing, Pricing):
            raise ConfigError(f"Card.pricing must be a Pricing, not {self.pricing!r}")
        if not isinstance(self.enabled, bool):
            raise ConfigError(f"Card.enabled must be True or False, not {self.enabled!r:.80}")
        if type(self.structured) is not bool:
            raise ConfigError(f"Card.structured must be True or False, not {self.structured!r}")
        for name, pattern in (("accepts", _CONTENT), ("hosts", _HOST)):
            object.__setattr__(self, name, _named(name, getattr(self, name), pattern))
        for name in ("window", "max_output", "image_tokens", "pdf_tokens"):
            value = getattr(self, name)
            known = value is not None or name.endswith("_tokens")
            if known and (type(value) is not int or value < 1):
                raise ConfigError(f"Card.{name} must be at least 1 token, not {value!r}")


def _named(option: str, given: object, pattern: re.Pattern[str]) -> frozenset[str]:
    """`given` as a set of names that fit. Raises ConfigError."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"Card.{option} must be a set of names, not {given!r}")
    found = frozenset(given)
    for name in found:
        if not isinstance(name, str) or pattern.fullmatch(name) is None:
            raise ConfigError(f"Card.{option} cannot hold {name!r}: use {_MENDS[option]}")
    return found


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
