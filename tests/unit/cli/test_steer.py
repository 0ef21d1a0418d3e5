"""`remit runs` steers: answers, messages, forks and replays, from a terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from textwrap import dedent
from typing import Any

import pytest

from remit import App, WorkflowRun, workflow
from remit.cli import main
from tests.unit.cli.stored import answered, paused, store_in

Captured = pytest.CaptureFixture[str]
DESK = """
    from remit import Agent, App, Budget, WorkflowRun, tool, workflow
    from remit.testing import Say, ScriptedModel

    @tool(approval="always")
    async def pay(to: str, amount: int) -> str:
        '''Pays somebody.'''
        return f"paid {amount} to {to}"

    @tool
    async def look_up(what: str) -> str:
        '''Looks something up.'''
        return f"{what} is there"

    @workflow
    async def order(run: WorkflowRun, input: str) -> str:
        await run.step("STEP", lambda: None)
        return await run.ask("Go on?", returns=str)

    tools = [pay, look_up]
    clerk = Agent(name="clerk", model=ScriptedModel([]), tools=tools, budget=Budget(turns=5))
    app = App([clerk], workflows=[order], store="STORE")
"""


@workflow
async def order(run: WorkflowRun, input: str) -> str:
    await run.step("pack", lambda: None)
    answer: str = await run.ask("Go on?", returns=str)
    return answer


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the surroundings tells the store's address, and no module is left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_STORE", raising=False)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    sys.modules.pop("shop", None)


def shop(folder: Path, step: str = "pack") -> str:
    """An app in a module of its own, on the folder's store."""
    source = dedent(DESK).replace("STORE", store_in(folder)).replace("STEP", step)
    (folder / "shop.py").write_text(source)
    # A compiled module of the same second and size would stand in for it.
    rmtree(folder / "__pycache__", ignore_errors=True)
    return "shop:app"


def remit(folder: Path, *arguments: str) -> int:
    return main(["runs", *arguments, "--store", store_in(folder)])


def line_of(capsys: Captured) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def ordered(folder: Path) -> str:
    """An order that waits for an answer."""

    async def begin() -> str:
        async with App(workflows=[order], store=store_in(folder)) as app:
            return (await app.run("order", "x")).id

    return asyncio.run(begin())


def test_a_workflows_question_is_shown_and_answered(tmp_path: Path, capsys: Captured) -> None:
    run = ordered(tmp_path)
    assert remit(tmp_path, "show", run) == 3
    shown = capsys.readouterr().out
    assert "Go on?" in shown
    assert f"runs answer {run} ask:0" in shown

    assert remit(tmp_path, "answer", run, "ask:0", "yes", "--by", "staff_1", "--json") == 0
    assert line_of(capsys) == {
        "v": 1,
        "kind": "answered",
        "run": run,
        "question": "ask:0",
        "left": 0,
    }

    async def end() -> Any:
        async with App(workflows=[order], store=store_in(tmp_path)) as app:
            return (await app.wait(run)).output

    assert asyncio.run(end()) == "yes"
    assert remit(tmp_path, "show", run, "--json") == 0
    assert line_of(capsys)["output"] == "yes"


def test_an_answer_that_does_not_fit_leaves_the_question_open(
    tmp_path: Path, capsys: Captured
) -> None:
    run = ordered(tmp_path)
    assert remit(tmp_path, "answer", run, "ask:0", "7", "--by", "staff_1") == 1
    assert remit(tmp_path, "answer", run, "nobody", "yes", "--by", "staff_1") == 1
    assert remit(tmp_path, "answer", run, "ask:0", "yes", "--by", "a b") == 2
    capsys.readouterr()
    remit(tmp_path, "show", run, "--json")
    assert [one["id"] for one in line_of(capsys)["questions"]] == ["ask:0"]


def test_a_message_is_left_for_a_run_that_goes_on(tmp_path: Path, capsys: Captured) -> None:
    waiting, done = paused(tmp_path), answered(tmp_path)
    assert remit(tmp_path, "send", waiting, "In French, please", "--by", "staff_1") == 0
    assert remit(tmp_path, "send", done, "Too late", "--by", "staff_1") == 1
    assert remit(tmp_path, "send", waiting, " ", "--by", "staff_1") == 2
    assert "nobody reads" in capsys.readouterr().err


def test_a_run_is_forked_by_the_code_of_an_app(tmp_path: Path, capsys: Captured) -> None:
    run, app = answered(tmp_path), shop(tmp_path)
    words = ["runs", "fork", run, "--app", app, "--message", "And then?", "--json"]
    assert main(words) == 0
    made = line_of(capsys)
    assert made["of"] == run
    remit(tmp_path, "show", made["run"], "--json")
    forked = line_of(capsys)
    assert (forked["status"], forked["agent"], forked["user"]) == ("queued", "clerk", "u_1")
    assert main(["runs", "fork", run, "--app", app, "--after-turn", "7"]) == 2
    capsys.readouterr()
    assert main(["runs", "fork", run, "--app", app]) == 2
    assert "give the fork a --message" in capsys.readouterr().err
    assert main(["runs", "fork", run, "--app", "shop:nobody"]) == 2
    assert main(["runs", "fork", run, "--app", "shop"]) == 2


def test_a_run_is_replayed_by_the_code_of_an_app(tmp_path: Path, capsys: Captured) -> None:
    run, other = answered(tmp_path), ordered(tmp_path)
    app = shop(tmp_path)
    assert main(["runs", "replay", run, "--app", app]) == 0
    assert main(["runs", "replay", other, "--app", app]) == 0
    capsys.readouterr()
    sys.modules.pop("shop")
    app = shop(tmp_path, step="ship")
    assert main(["runs", "replay", other, "--app", app, "--json"]) == 1
    difference = line_of(capsys)["difference"]
    assert difference["seq"] == 2
    assert "pack" in difference["recorded"]
    assert "ship" in difference["driven"]
