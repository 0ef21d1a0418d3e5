"""`remit inventory`: what an app's agents can do, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.cli import main

Captured = pytest.CaptureFixture[str]
DESK = '''
from remit import Agent, App, Budget, tool


@tool(needs={"payments:write"}, repeat="ask", approval="always", timeout=5)
async def pay(amount: int, to: str = "a") -> str:
    """Pays."""
    return str(amount)


@tool(transactional=True, timeout=None)
def book() -> str:
    """Books."""
    return "booked"


desk = Agent(name="desk", model="a:b", budget=Budget(turns=3), tools=[pay, book])
clerk = desk.replace(name="clerk", tools=[], grant={"more"})
app = App(agents=[desk, clerk], store="sqlite:///desk.db", grant={"payments:write", "more"})
empty = App(store="sqlite:///desk.db")
'''


@pytest.fixture(autouse=True)
def the_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "the_shop.py").write_text(DESK)
    yield
    sys.modules.pop("the_shop", None)


def test_people_read_a_table(tmp_path: Path, capsys: Captured) -> None:
    assert main(["inventory", "--app", "the_shop:app"]) == 0
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["desk", "1:", "2", "tools"] in told
    assert ["pay", "no", "always", "ask", "5", "s", "payments:write", "amount,", "to?"] in told
    assert ["book", "yes", "never", "transactional", "none", "-", "-"] in told
    assert ["pay:", "the", "agent", "does", "not", "grant", "payments:write"] in told
    assert ["clerk", "1:", "0", "tools"] in told
    assert ["model", "a:b,", "granted", "more"] in told
    assert [file.name for file in tmp_path.iterdir()] == ["the_shop.py"]


def test_programs_read_a_line_for_each_agent(capsys: Captured) -> None:
    assert main(["inventory", "--app", "the_shop:app", "--json"]) == 0
    desk, clerk = map(json.loads, capsys.readouterr().out.splitlines())
    assert {key: value for key, value in clerk.items() if key != "tools"} == {
        "v": 1,
        "kind": "inventory",
        "agent": "clerk",
        "version": "1",
        "model": "a:b",
        "models": ["a:b"],
        "grant": ["more"],
    }
    pay, book = desk["tools"]
    assert pay["schema"]["required"] == ["amount"]
    assert (pay["callable"], pay["why_not"]) == (
        False,
        "the agent does not grant payments:write",
    )
    assert (book["callable"], book["why_not"], book["timeout"]) == (True, None, None)


def test_one_agent_may_be_asked_for(capsys: Captured) -> None:
    assert main(["inventory", "clerk", "--app", "the_shop:app", "--json"]) == 0
    assert [json.loads(line)["agent"] for line in capsys.readouterr().out.splitlines()] == ["clerk"]


def test_an_app_without_agents_can_do_nothing(capsys: Captured) -> None:
    assert main(["inventory", "--app", "the_shop:empty"]) == 0
    assert capsys.readouterr().out == "the_shop:empty has no agents.\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nobody", "--app", "the_shop:app"], "its agents are desk, clerk"),
        (["--app", "the_shop:nothing"], "has no 'nothing'"),
        (["--app", "the_shop"], "MODULE:APP"),
        (["--app", "the_shop.py:app"], "write the_shop:app"),
        (["--app", "below/the_shop.py:app"], "write below.the_shop:app"),
        ([], "--app"),
    ],
)
def test_wrong_use_is_told_in_one_line(words: list[str], says: str, capsys: Captured) -> None:
    assert main(["inventory", *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert says in told.err
    assert told.err.count("\n") == 1
