"""The options that all adapters have, checked before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from remit.models.protocol import Card
from remit.values.errors import ConfigError


def check_asking(model: Any, fields: str = "options") -> None:
    """Raise ConfigError for a `card`, a `timeout` or further `fields` of another type."""
    name = type(model).__name__
    if not isinstance(model.card, Card):
        raise ConfigError(f"{name}.card must be a Card, which may be empty: Card()")
    seconds = model.timeout
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not seconds > 0 or not math.isfinite(seconds):
        raise ConfigError(
            f"{name}.timeout must be a number of seconds, more than 0, not {seconds!r:.80}"
        )
    options = getattr(model, fields)
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        raise ConfigError(
            f"{name}.{fields} must be a mapping, like {{'temperature': 0}}, not {options!r:.80}"
        )


def check_server(model: Any) -> None:
    """`check_asking`, and the same for a `provider`, a `base_url` and an `api_key`. The key is not
    shown."""
    check_asking(model)
    name, url, key = type(model).__name__, model.base_url, model.api_key
    if not isinstance(model.provider, str) or not model.provider.strip():
        raise ConfigError(
            f"{name}.provider must be text, like 'openai', not {model.provider!r:.80}"
        )
    if url is not None and not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        raise ConfigError(f"base_url must begin with http:// or https://, not {url!r}")
    if key is not None and not isinstance(key, str):
        raise ConfigError(f"{name}.api_key must be text, and is {type(key).__name__}")
