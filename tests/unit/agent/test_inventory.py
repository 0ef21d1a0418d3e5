"""An inventory lists everything that an agent can do, and what it cannot, with the reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from remit import Agent, App, Budget, tool
from remit.agent.toolbox import Inventory, ToolEntry
from remit.errors import ConfigError
from remit.values import codec


@tool(timeout=None, exclusive=True)
async def look(number: str, near: int = 3) -> str:
    """Looks a number up."""
    return number


@tool(needs={"payments:write", "books:read"}, repeat="ask", approval=lambda args: args.amount > 5)
async def pay(amount: int) -> str:
    """Pays."""
    return str(amount)


@tool(approval="always", transactional=True, timeout=5)
async def book(entry: dict[str, int]) -> str:
    """Books."""
    return "booked"


def an_agent(**changes: Any) -> Agent[Any, Any]:
    options: dict[str, Any] = {
        "name": "desk",
        "model": "a:b",
        "budget": Budget(turns=2),
        "tools": [look, pay, book],
        "grant": {"payments:write", "books:read"},
    }
    return Agent(**(options | changes))


def test_every_tool_stands_in_it_with_its_policies() -> None:
    assert an_agent().inventory() == Inventory(
        agent="desk",
        version="1",
        model="a:b",
        models=("a:b",),
        grant=("books:read", "payments:write"),
        tools=(
            ToolEntry(
                name="look",
                description="Looks a number up.",
                schema=look.schema,
                needs=(),
                approval="never",
                repeat="safe",
                transactional=False,
                exclusive=True,
                timeout=None,
                why_not=None,
                loose=None,
            ),
            ToolEntry(
                name="pay",
                description="Pays.",
                schema=pay.schema,
                needs=("books:read", "payments:write"),
                approval="check",
                repeat="ask",
                transactional=False,
                exclusive=False,
                timeout=60.0,
                why_not=None,
                loose=None,
            ),
            ToolEntry(
                name="book",
                description="Books.",
                schema=book.schema,
                needs=(),
                approval="always",
                repeat="safe",
                transactional=True,
                exclusive=False,
                timeout=5.0,
                why_not=None,
                loose="entry takes keys of any name",
            ),
        ),
    )


@pytest.mark.parametrize(
    ("own", "app", "why"),
    [
        ({"books:read"}, None, "the agent does not grant payments:write"),
        (set(), None, "the agent does not grant books:read, payments:write"),
        ({"books:read", "payments:write"}, {"books:read"}, "the app does not grant payments:write"),
        (
            {"books:read"},
            set(),
            "the agent does not grant payments:write; the app does not grant books:read",
        ),
        ({"books:read", "payments:write"}, {"books:read", "payments:write", "more"}, None),
    ],
)
def test_what_keeps_a_tool_from_being_called_is_told(own: Any, app: Any, why: str | None) -> None:
    agent = an_agent(grant=own)
    _, paying, _ = agent.inventory(app).tools
    assert (paying.why_not, paying.callable) == (why, why is None)
    runs = agent.granted if app is None else agent.granted & app
    assert paying.callable == (pay.needs <= runs)
    assert agent.inventory(app).grant == tuple(sorted(runs))


def test_an_app_lists_its_agents_inside_its_own_grant() -> None:
    app = App(agents=[an_agent(tools=[look, pay])], store="memory:", grant={"books:read"})
    (found,) = app.inventory()
    assert found.grant == ("books:read",)
    assert [each.name for each in found.tools if each.callable] == ["look"]


def test_an_inventory_survives_as_json() -> None:
    found = an_agent().inventory()
    assert msgspec.json.decode(codec.encode(found), type=Inventory) == found


def test_a_grant_of_another_shape_is_refused() -> None:
    with pytest.raises(ConfigError, match="set of capabilities"):
        an_agent().inventory("books:read")
