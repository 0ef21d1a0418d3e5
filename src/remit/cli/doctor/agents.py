"""What may be wrong with the agents of an app: their models' rates and packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from remit.agent.agent import Agent
from remit.agent.inside import agents_of
from remit.agent.routing.models import card_of, name_of
from remit.cli.doctor.finding import Finding
from remit.models.anthropic import AnthropicMessages
from remit.models.bridge import Bridge
from remit.models.google import GoogleGemini
from remit.models.local import LocalModel
from remit.models.local.model import check_file
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.models.pricing import Pricing
from remit.models.protocol import Model
from remit.values.errors import ConfigError

_PACKAGES: tuple[tuple[type, str, str], ...] = (
    (AnthropicMessages, "anthropic", "anthropic"),
    (OpenAIChat, "openai", "openai"),
    (OpenAIResponses, "openai", "openai"),
    (GoogleGemini, "google.genai", "google"),
    (LocalModel, "xllamacpp", "local"),
    (Bridge, "pydantic_ai", "bridge"),
)
"""What the models of each kind need, and the extra that brings it."""


def agents(found: Iterable[Agent[Any, Any]], installed: Callable[[str], bool]) -> Iterator[Finding]:
    """All that is wrong with agents that can be made, and with those that work inside them."""
    told: set[Finding] = set()
    for agent in found:
        is_bound = agent.budget.cost is not None
        for each in (agent, *agents_of(agent.tools)):
            findings = [*rates(each, is_bound=is_bound), *model(each, installed)]
            for finding in findings:
                if finding not in told:
                    told.add(finding)
                    yield finding


def rates(agent: Agent[Any, Any], *, is_bound: bool = False) -> Iterator[Finding]:
    """A cost budget, its own or with `is_bound` that of the agent around it, that counts cached
    tokens at a rate nobody declared."""
    for model in agent.models:
        pricing = card_of(model, agent.catalogue).pricing
        bound = is_bound or agent.budget.cost is not None
        if not bound or pricing is None or pricing.free:
            continue
        missing = list(_undeclared(pricing))
        if not missing:
            continue
        yield Finding(
            "warning",
            "cache-rates-missing",
            f"agent {agent.name} is bound by a cost budget, and its model {name_of(model)} has no"
            f" rate for {' and '.join(missing)} tokens: they are counted at the plain input rate",
            "declare what the provider charges, if it is another rate: Pricing(input=…, output=…,"
            " cached_input=…, cache_write=…)",
        )


def model(agent: Agent[Any, Any], installed: Callable[[str], bool]) -> Iterator[Finding]:
    """A model that cannot be asked."""
    try:
        plan = agent.plan(agent.granted)
    except ConfigError as error:
        yield Finding(
            "error",
            "app-broken",
            f"agent {agent.name} cannot run",
            str(error),
        )
        return
    for made in (plan.model, *(heir.model for heir in plan.heirs)):
        yield from _needs(agent, made, installed)


def _needs(
    agent: Agent[Any, Any], made: Model, installed: Callable[[str], bool]
) -> Iterator[Finding]:
    for kind, package, extra in _PACKAGES:
        if isinstance(made, kind) and not installed(package):
            yield Finding(
                "error",
                "package-missing",
                f"the model {made.name} of agent {agent.name} needs the package {package}",
                f"pip install '.[{extra}]' in a clone of remit",
            )
    if isinstance(made, LocalModel):
        yield from _file(agent, made)


def _file(agent: Agent[Any, Any], model: LocalModel) -> Iterator[Finding]:
    try:
        check_file(model.file)
    except ConfigError as error:
        problem, _, mend = str(error).partition(": ")
        told = f"the model {model.name} of agent {agent.name} cannot run: {problem}"
        yield Finding("error", "model-file", told, mend)


def _undeclared(pricing: Pricing) -> Iterator[str]:
    if pricing.cached_input is None:
        yield "cache read"
    if pricing.cache_write is None:
        yield "cache write"
