"""What is wrong with an app's agents is found without running them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit import Agent, Budget, Pricing, tool
from remit.cli.doctor.agents import agents
from remit.cli.doctor.hidden import hidden
from remit.models.catalogue import Catalogue
from remit.models.protocol import Card
from remit.testing.model import ScriptedModel

BOTH = {"cached_input": "0.3", "cache_write": "3.75"}


def agent(rates: dict[str, Any] | None, **budget: Any) -> Agent[Any, Any]:
    pricing = None if rates is None else Pricing(**{"input": 3, "output": 15, **rates})
    model = ScriptedModel([], card=Card(pricing=pricing))
    return Agent(name="desk", model=model, budget=Budget(**(budget or {"cost": 1})))


def found(agent: Agent[Any, Any], *, missing: str = "") -> list[tuple[str, str, str]]:
    return [
        (one.level, one.name, one.what) for one in agents([agent], lambda name: name != missing)
    ]


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ({}, "no rate for cache read and cache write tokens"),
        ({"cached_input": 1}, "no rate for cache write tokens"),
        ({"cache_write": 1}, "no rate for cache read tokens"),
    ],
)
def test_a_cost_budget_without_cache_rates_is_found(rates: dict[str, Any], told: str) -> None:
    ((level, name, what),) = found(agent(rates))

    assert (level, name) == ("warning", "cache-rates-missing")
    assert told in what


@pytest.mark.parametrize(
    "sound",
    [
        agent(BOTH),
        agent({"cached_input": 0, "cache_write": 0}),
        agent({}, turns=3),
        agent(None, turns=3),
        agent({"input": 0, "output": 0}, cost=1, turns=3),
    ],
    ids=["declared", "declared free", "no cost budget", "no rates", "all free"],
)
def test_where_no_rate_is_guessed_nothing_is_found(sound: Agent[Any, Any]) -> None:
    assert found(sound) == []


@pytest.mark.parametrize(
    ("model", "package"),
    [
        ("openai:gpt-5.1", "openai"),
        ("anthropic:claude-opus-5", "anthropic"),
        ("openai-responses:gpt-5.1", "openai"),
        ("google:gemini-3.8-flash", "google.genai"),
        ("bridge:groq:llama-3.3", "pydantic_ai"),
    ],
)
def test_a_model_whose_package_is_missing_is_found(model: str, package: str) -> None:
    desk: Agent[Any, Any] = Agent(name="desk", model=model, budget=Budget(turns=1))

    ((level, name, what),) = found(desk, missing=package)

    assert (level, name) == ("error", "package-missing")
    assert model in what
    assert found(desk) == []


def test_a_local_model_whose_package_or_file_is_missing_is_found(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    desk: Agent[Any, Any] = Agent(name="desk", model=f"local:{path}", budget=Budget(turns=1))

    names = [name for _, name, _ in found(desk, missing="xllamacpp")]
    path.write_bytes(b"GGUF and more")

    assert names == ["package-missing", "model-file"]
    assert found(desk) == []


def test_a_model_without_an_adapter_is_found() -> None:
    desk: Agent[Any, Any] = Agent(
        name="desk", model="nobody:large", budget=Budget(turns=1), catalogue=Catalogue()
    )

    ((level, name, _),) = found(desk)

    assert (level, name) == ("error", "app-broken")


def test_agents_inside_are_looked_at_and_each_is_told_of_once() -> None:
    rates = Card(pricing=Pricing(input=3, output=15))
    inner: Agent[Any, Any] = Agent(
        name="scout",
        model="openai:gpt-5.1",
        budget=Budget(turns=1),
        catalogue=Catalogue({"openai:gpt-5.1": rates}),
    )
    tools = [inner.as_tool(description="Works.", name=name) for name in ("one", "two")]
    whole = Pricing(input=1, output=1, cached_input=1, cache_write=1)
    free = ScriptedModel([], card=Card(pricing=whole))
    desk: Agent[Any, Any] = Agent(name="desk", model=free, tools=tools, budget=Budget(cost="1.00"))

    assert [(level, name) for level, name, _ in found(desk, missing="openai")] == [
        ("warning", "cache-rates-missing"),
        ("error", "package-missing"),
    ]


def test_a_tool_that_a_grant_takes_away_is_told_with_whose_grant_it_is() -> None:
    @tool(needs={"payments:write"})
    async def refund(order: str) -> str:
        """Refunds an order."""
        raise AssertionError(order)

    inner = agent(None, turns=1).replace(
        name="till", tools=[refund], grant=frozenset({"payments:write"})
    )
    desk = agent(None, turns=1).replace(
        tools=[refund, inner.as_tool(description="Works.")], grant=frozenset({"payments:write"})
    )

    def told(*granted: str) -> list[tuple[str, str]]:
        found = hidden([desk.inventory(granted)])
        return [(one.level, one.what) for one in found]

    assert told("payments:write") == []
    (own, inside) = told()
    assert own == (
        "note",
        "tool refund of agent desk cannot be called here: the app does not grant payments:write",
    )
    assert "tool refund of agent till inside desk cannot be called here: " in inside[1]
