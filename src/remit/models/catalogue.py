"""Which models there are, what each accepts and what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from remit.models.protocol import Card, Model
from remit.values.errors import ConfigError

Provider = Callable[[str, Card], Model]
"""Makes the model of a name, the provider's prefix left out, with its card. Loads no SDK."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_PREFIX = re.compile(r"[a-z][a-z0-9_-]*")


class Catalogue:
    """Cards by `provider:name`. Making one, and looking up a name, loads no provider's SDK.

    `providers` adds prefixes of the app's own, or takes the place of one that remit has:

    ```python no-run: shows the shape
    def house(name: str, card: Card) -> Model:
        return OpenAIChat(name, provider="house", base_url="http://127.0.0.1:8080/v1", card=card)


    catalogue = Catalogue(providers={"house": house})  # Agent(model="house:smollm2", …)
    ```
    """

    def __init__(
        self,
        cards: Mapping[str, Card] | None = None,
        *,
        providers: Mapping[str, Provider] | None = None,
    ) -> None:
        self._cards = dict(cards or {})
        for name, card in self._cards.items():
            check_name(name)
            if not isinstance(card, Card):
                raise ConfigError(f"the catalogue needs a Card for {name!r}, not {card!r}")
        self._providers: dict[str, Provider] = {
            "anthropic": _anthropic,
            "bridge": _bridge,
            "google": _google,
            "local": _local,
            "openai": _openai,
            "openai-responses": _openai_responses,
            **(providers or {}),
        }
        for prefix, provider in self._providers.items():
            _check_provider(prefix, provider)
        self._models: dict[str, Model] = {}

    def card(self, name: str) -> Card:
        """The card of the model `name`; an empty one for a name that has none."""
        return self._cards.get(name, Card())

    def model(self, name: str) -> Model:
        """The model `name`, with its card: the same one each time, for its connections' sake.

        Raises ConfigError for a provider without an adapter.
        """
        if name not in self._models:
            self._models[name] = self._made(name)
        return self._models[name]

    def _made(self, name: str) -> Model:
        prefix, _, rest = name.partition(":")
        provider = self._providers.get(prefix)
        if provider is None:
            known = ", ".join(f"{prefix}:…" for prefix in sorted(self._providers))
            raise ConfigError(
                f"no adapter for {name!r}; there is: {known}. Name one of these, add yours with"
                " Catalogue(providers={…}), or give Agent(model=…) an object with `name`, `card`"
                " and `stream`"
            )
        return provider(rest, self.card(name))


def check_name(name: str) -> None:
    """Raise ConfigError unless `name` is `provider:name`."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(
            f"{name!r} names no model: write provider:name, like 'openai:gpt-5.4-mini'"
        )


def _check_provider(prefix: str, provider: Provider) -> None:
    if not isinstance(prefix, str) or _PREFIX.fullmatch(prefix) is None:
        raise ConfigError(f"{prefix!r} is no provider's prefix: use a-z, 0-9, _ and -")
    if not callable(provider):
        raise ConfigError(
            f"the provider {prefix!r} must be a function from a name and a Card to a model,"
            f" not {provider!r}"
        )


def _anthropic(name: str, card: Card) -> Model:
    from remit.models.anthropic import AnthropicMessages

    return AnthropicMessages(name, card=card)


def _openai(name: str, card: Card) -> Model:
    from remit.models.openai_chat import OpenAIChat

    return OpenAIChat(name, card=card)


def _local(name: str, card: Card) -> Model:
    from remit.models.local import LocalModel

    return LocalModel(path=name, card=card)


def _bridge(name: str, card: Card) -> Model:
    from remit.models.bridge import Bridge

    return Bridge(name, card=card)


def _openai_responses(name: str, card: Card) -> Model:
    from remit.models.openai_responses import OpenAIResponses

    return OpenAIResponses(name, card=card)


def _google(name: str, card: Card) -> Model:
    from remit.models.google import GoogleGemini

    return GoogleGemini(name, card=card)
