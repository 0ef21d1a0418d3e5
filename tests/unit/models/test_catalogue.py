"""Names become models, and unknown ones a message that says the mend."""

from __future__ import annotations

from typing import Any

import pytest

from remit.models.catalogue import Catalogue
from remit.models.openai_chat import OpenAIChat
from remit.models.pricing import Pricing
from remit.models.protocol import Card, Model
from remit.testing.model import Say, ScriptedModel
from remit.values.errors import ConfigError

CARD = Card(pricing=Pricing(input=3, output=15))


def test_a_name_of_openais_is_a_chat_model_with_its_card() -> None:
    found = Catalogue({"openai:gpt-5.1": CARD}).model("openai:gpt-5.1")

    assert isinstance(found, OpenAIChat)
    assert (found.name, found.model, found.card) == ("openai:gpt-5.1", "gpt-5.1", CARD)


def test_a_name_without_a_card_is_a_model_all_the_same() -> None:
    assert Catalogue().model("openai:gpt-x").card == Card()


def test_a_name_is_one_model_each_time() -> None:
    catalogue = Catalogue()

    assert catalogue.model("openai:gpt-x") is catalogue.model("openai:gpt-x")


def test_a_provider_of_ones_own_makes_its_models() -> None:
    made: list[tuple[str, Card]] = []
    scripted = ScriptedModel([Say("Hi")])
    scripted.assert_used = lambda: None  # type: ignore[method-assign]  # nobody asks it

    def local(name: str, card: Card) -> Model:
        made.append((name, card))
        return scripted

    catalogue = Catalogue({"local:llama3:8b": CARD}, providers={"local": local})

    assert catalogue.model("local:llama3:8b") is scripted
    assert made == [("llama3:8b", CARD)]


def test_a_provider_of_ones_own_may_stand_for_one_of_remits() -> None:
    def proxied(name: str, card: Card) -> Model:
        return OpenAIChat(name, base_url="http://proxy/v1", card=card)

    found = Catalogue(providers={"openai": proxied}).model("openai:gpt-x")

    assert isinstance(found, OpenAIChat)
    assert found.base_url == "http://proxy/v1"


def test_an_unknown_provider_is_told_what_there_is() -> None:
    catalogue = Catalogue(providers={"house": lambda name, card: OpenAIChat(name)})

    with pytest.raises(ConfigError, match=r"'groq:x'; there is: .*house:…, local:…, openai:…"):
        catalogue.model("groq:x")


@pytest.mark.parametrize(
    "providers", [{"Local": print}, {"a:b": print}, {"": print}, {"local": "url"}]
)
def test_a_provider_that_is_none_is_refused(providers: Any) -> None:
    with pytest.raises(ConfigError):
        Catalogue(providers=providers)
