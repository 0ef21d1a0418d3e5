"""Which tools an agent may not have, or not have beside each other."""

from __future__ import annotations

from typing import Any

import pytest

from remit import Agent, Budget, Tool, tool
from remit.errors import ConfigError
from remit.models.openai_chat.model import OpenAIChat


def named(name: str) -> Tool:
    async def work() -> None:
        """Works."""

    return tool(name=name)(work)


def an_agent(*tools: Any) -> Agent[Any, Any]:
    return Agent(name="desk", model="a:b", budget=Budget(turns=2), tools=tools)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("find_order", "find-order"),
        ("find_order", "findOrder"),
        ("find_order", "Find_Order"),
        ("FIND", "find"),
        ("Issue", "issue"),
        ("fi1e", "file"),
        ("fiIe", "file"),
        ("step_1", "step_l"),
        ("g0", "go"),
        ("gO", "g0"),
        ("modern", "modem"),
        ("pay-Order", "pay_0rder"),
    ],
)
def test_names_that_would_be_taken_for_each_other_are_refused(one: str, other: str) -> None:
    for pair in ((one, other), (other, one)):
        with pytest.raises(ConfigError, match=rf"'{pair[0]}' and '{pair[1]}'.*name="):
            an_agent(named("between"), *map(named, pair))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("find_order", "find_orders"),
        ("find_order", "findorder"),
        ("step_1", "step_2"),
        ("tail", "tall"),
        ("a", "b"),
        ("list", "1"),
    ],
)
def test_names_that_differ_are_taken(one: str, other: str) -> None:
    assert [made.name for made in an_agent(named(one), named(other)).tools] == [one, other]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"type": "web_search"}, "web_search"),
        ({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, "web_search_2025"),
        ({"type": "code_interpreter", "container": {"type": "auto"}}, "code_interpreter"),
        ({"type": "mcp", "server_url": "https://example.com"}, "mcp"),
        ({"google_search": {}}, "google_search"),
        ({"codeExecution": {}}, "codeExecution"),
        ("web_search", "web_search"),
    ],
    ids=str,
)
def test_a_tool_that_a_provider_runs_is_refused_when_the_agent_is_made(
    given: Any, told: str
) -> None:
    with pytest.raises(ConfigError, match=rf"{told}.*run by the provider.*@tool"):
        an_agent(named("find"), given)


@pytest.mark.parametrize(
    "given",
    [{"type": "function", "function": {"name": "find"}}, {"name": "find"}, "find", 5, print],
    ids=str,
)
def test_what_is_no_tool_is_refused_with_its_mend(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"is no tool of agent 'desk'.*@tool"):
        an_agent(given)


def test_an_agent_among_the_tools_is_told_how_it_becomes_one() -> None:
    with pytest.raises(ConfigError, match=r"agent 'desk' among.*\.as_tool\(description=…\)"):
        an_agent(an_agent(named("find")))


@pytest.mark.parametrize("tools", ["ok", b"ok", {"find": 1}, 5, None, named("find")], ids=str)
def test_tools_that_are_no_list_are_refused(tools: Any) -> None:
    with pytest.raises(ConfigError, match=r"tools of agent 'desk' must be a list of tools, not"):
        an_agent().replace(tools=tools)


@pytest.mark.parametrize("field", ["web_search_options", "plugins"])
def test_a_model_that_would_have_its_server_run_tools_is_refused(field: str) -> None:
    with pytest.raises(ConfigError, match=rf"{field}.*write a tool"):
        OpenAIChat("some", options={field: {}})


def test_a_tool_of_ones_own_may_have_the_name_of_a_providers() -> None:
    assert an_agent(named("web_search")).tools[0].name == "web_search"
