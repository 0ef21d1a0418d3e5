"""The model that a command's options name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from remit.models.anthropic import AnthropicMessages
from remit.models.bridge import Bridge
from remit.models.catalogue import Catalogue, check_name
from remit.models.google import GoogleGemini
from remit.models.local import LocalModel
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.models.pricing import Pricing
from remit.models.protocol import Card, Model
from remit.values.errors import ConfigError

_SERVED: dict[str, Any] = {
    "anthropic": AnthropicMessages,
    "google": GoogleGemini,
    "openai": OpenAIChat,
    "openai-responses": OpenAIResponses,
}
"""What is asked over a network, whose server can be named."""

_PREPARED = (AnthropicMessages, Bridge, GoogleGemini, LocalModel, OpenAIChat, OpenAIResponses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`provider:NAME`, the server that has it, and `IN,OUT` rates per million tokens."""

    name: str
    base_url: str | None = None
    price: str | None = None
    json_tools: bool = False
    """Whether the server has no tool calling, and answers in JSON instead."""

    @property
    def pricing(self) -> Pricing | None:
        """The declared rates; None where there are none, and no money is shown."""
        if self.price is None:
            return None
        rates = self.price.split(",")
        if len(rates) != 2:
            raise ConfigError(f"--price takes two rates like 3,15 and not {self.price!r}")
        return Pricing(input=rates[0].strip(), output=rates[1].strip())

    def words(self) -> list[str]:
        """The same, as options of another command."""
        told = ["--model", self.name]
        for option, value in (("--base-url", self.base_url), ("--price", self.price)):
            told += [] if value is None else [option, value]
        return [*told, "--json-tools"] if self.json_tools else told


def wanted(
    name: str | None, base_url: str | None, price: str | None, *, json_tools: bool
) -> Wanted | None:
    """What the options name; None where they name nothing.

    Raises ConfigError for options that need a model and have none.
    """
    if name is not None:
        return Wanted(name=name, base_url=base_url, price=price, json_tools=json_tools)
    if base_url is not None or price is not None or json_tools:
        raise ConfigError("--base-url, --price and --json-tools are about a model: give --model")
    return None


async def ready(wanted: Wanted) -> Model:
    """The model, with its package loaded and its key at hand.

    Raises ConfigError for an unknown one, a bad price, and a missing package, key or file.
    """
    model = named(wanted)
    if isinstance(model, _PREPARED):
        await model.prepare()
    return model


def named(wanted: Wanted) -> Model:
    """The model; nothing is loaded yet. Raises ConfigError for what does not go together."""
    check_name(wanted.name)
    provider, _, name = wanted.name.partition(":")
    card = Card(pricing=wanted.pricing)
    if provider == "openai":
        tools: Literal["native", "json"] = "json" if wanted.json_tools else "native"
        return OpenAIChat(name, base_url=wanted.base_url, card=card, tools=tools)
    if wanted.json_tools:
        raise ConfigError("--json-tools is for servers of OpenAI's Chat Completions: leave it out")
    if provider in _SERVED:
        served: Model = _SERVED[provider](name, base_url=wanted.base_url, card=card)
        return served
    if wanted.base_url is not None:
        raise ConfigError(f"--base-url names a server, and {wanted.name} has none: leave it out")
    return Catalogue({wanted.name: card}).model(wanted.name)
