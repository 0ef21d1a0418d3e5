"""The models of an agent, the first one first, as it is given them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from remit.agent.budget import Budget
from remit.models.catalogue import Catalogue, check_name
from remit.models.protocol import Card, Model
from remit.values.errors import ConfigError

Given = str | Model | Sequence[str | Model]
"""A `provider:name`, a Model, or several of them."""


def listed(given: Given) -> tuple[str | Model, ...]:
    """The models, in order."""
    if isinstance(given, list | tuple):
        return tuple(given)
    return (given,)  # type: ignore[return-value]  # what else it may be is refused by check


def name_of(model: str | Model) -> str:
    """A model's `provider:name`."""
    return model if isinstance(model, str) else model.name


def card_of(model: str | Model, catalogue: Catalogue) -> Card:
    """What is known of a model."""
    return catalogue.card(model) if isinstance(model, str) else model.card


def first_card(models: Sequence[str | Model], catalogue: Catalogue) -> Card:
    """The card of the first model that is not switched off."""
    cards = [card_of(model, catalogue) for model in models]
    return next((card for card in cards if card.enabled), cards[0])


def check_models(
    agent: str, models: Sequence[str | Model], catalogue: object, budget: Budget
) -> None:
    """Raise ConfigError for models that cannot answer, or that the budget does not bound."""
    if not isinstance(catalogue, Catalogue):
        raise ConfigError(f"catalogue of agent {agent!r} must be a Catalogue, not {catalogue!r}")
    if not models:
        raise ConfigError(f"agent {agent!r} has no model: give model= one, or a list with one")
    for model in models:
        _check_model(agent, model)
    twice = [name for name, times in Counter(map(name_of, models)).items() if times > 1]
    if twice:
        raise ConfigError(
            f"agent {agent!r} has the model {twice[0]!r} twice: a model that is down is down"
            " twice; name another, and say with retry=Retry(…) how often each is asked"
        )
    cards = {name_of(model): card_of(model, catalogue) for model in models}
    for name, card in cards.items():
        _check_card(agent, name, card, budget)
    if not any(card.enabled for card in cards.values()):
        raise ConfigError(
            f"agent {agent!r} has no model that is switched on: give it another, or one of"
            f" {', '.join(cards)} a Card(enabled=True)"
        )


def _check_model(agent: str, model: object) -> None:
    if isinstance(model, str):
        check_name(model)
    elif not all(hasattr(model, part) for part in ("name", "card", "stream")):
        raise ConfigError(
            f"model {model!r} of agent {agent!r} is no model: give 'provider:name' or"
            " an object with name, card and stream"
        )


def _check_card(agent: str, name: str, card: object, budget: Budget) -> None:
    if not isinstance(card, Card):
        raise ConfigError(
            f"the card of model {name!r} of agent {agent!r} must be a Card, which may be empty:"
            " Card()"
        )
    pricing = card.pricing
    if budget.turns is None and pricing is not None and pricing.free:
        raise ConfigError(
            f"the model {name!r} of agent {agent!r} costs nothing, so a cost budget bounds nothing:"
            " give Budget(turns=…) too"
        )
    if isinstance(budget.cost, Decimal) and pricing is None:
        raise ConfigError(
            f"agent {agent!r} has a cost budget and its model {name!r} no rates: declare them with"
            " catalogue=Catalogue({…: Card(pricing=Pricing(input=…, output=…))})"
        )
