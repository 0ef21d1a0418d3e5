"""`remit runs` on a workflow's run: its steps, the agents in it, and messages to it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from remit import App, Caller, WorkflowRun, workflow
from remit.cli import main
from remit.errors import StepFailedError
from remit.testing.model import Call, Item, Say
from tests.unit.cli.stored import answered, clerk, store_in

Captured = pytest.CaptureFixture[str]


def fails() -> None:
    raise ValueError("no such address")


@workflow
async def order(run: WorkflowRun, number: str) -> Any:
    await run.step("pack", lambda: None)
    with suppress(StepFailedError):
        await run.step("ship", fails)

    async def thank(branch: WorkflowRun) -> str:
        await branch.step("print", lambda: None)
        result = await branch.agent("clerk", f"Thank the buyer of {number}.")
        return str(result.text)

    texts = await run.gather(thank)
    return [*texts, await run.receive()]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the surroundings tells the store's address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_STORE", raising=False)


def app_in(folder: Path, *items: Item) -> App:
    return App([clerk(list(items))], workflows=[order], store=store_in(folder))


def waiting(folder: Path) -> str:
    """A workflow's run that waits for a message, with an approved call of its agent behind it."""

    async def begin() -> str:
        items: list[Item] = [
            Call("look_up", what="A-1"),
            Call("pay", to="c_1", amount=1),
            Say("Thank you!"),
        ]
        async with app_in(folder, *items) as app:
            run = await app.run("order", "A-1")
            await app.decide(run.id, approve=[run.pending[0].id], by=Caller(user="staff_1"))
            return (await app.wait(run.id)).id

    return asyncio.run(begin())


def ended(folder: Path, run: str) -> Any:
    async def end() -> Any:
        async with app_in(folder) as app:
            return (await app.wait(run)).output

    return asyncio.run(end())


def remit(folder: Path, *arguments: str) -> int:
    return main(["runs", *arguments, "--store", store_in(folder)])


def test_a_workflows_steps_are_shown_with_the_calls_of_its_agents(
    tmp_path: Path, capsys: Captured
) -> None:
    run = waiting(tmp_path)
    assert remit(tmp_path, "show", run) == 3
    shown = capsys.readouterr().out
    assert any(line.split() == ["workflow", "order"] for line in shown.splitlines())
    assert "\nagent " not in shown
    assert "failed: ValueError: no such address" in shown
    assert "gather:0/0/agent:0  clerk@1" in shown
    assert 'look_up(what="A-1")' in shown
    assert "ok: A-1 is there" in shown
    assert "approved by staff_1" in shown
    assert f"runs send {run} MESSAGE --by USER" in shown


def test_a_workflows_steps_are_in_json(tmp_path: Path, capsys: Captured) -> None:
    run = waiting(tmp_path)
    remit(tmp_path, "show", run, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["workflow"], found["listens"]) == ("order", True)
    names = [(step["name"], step["agent"]) for step in found["steps"]]
    assert names == [
        ("pack", None),
        ("ship", None),
        ("gather:0/0/print", None),
        ("gather:0/0/agent:0", "clerk@1"),
    ]
    pack, ship, _, agent = found["steps"]
    assert (pack["error"], ship["error"]) == (None, "ValueError: no such address")
    assert all(step["took"] >= 0 for step in found["steps"])
    calls = [call for turn in agent["turns"] for call in turn["calls"]]
    assert [call["name"] for call in calls] == ["look_up", "pay"]
    assert [call["result"]["text"] for call in calls] == ["A-1 is there", "paid 1 to c_1"]
    assert calls[1]["decision"]["by"]["user"] == "staff_1"


@pytest.mark.parametrize(
    ("typed", "received"),
    [('{"left": [1, null]}', {"left": [1, None]}), ("by the door", "by the door"), ("7", 7)],
)
def test_a_message_to_a_workflow_is_json_or_else_text(
    typed: str, received: Any, tmp_path: Path
) -> None:
    run = waiting(tmp_path)
    assert remit(tmp_path, "send", run, typed, "--by", "staff_1") == 0
    assert ended(tmp_path, run) == ["Thank you!", received]


def test_an_agents_run_is_headed_as_one_and_has_no_steps(tmp_path: Path, capsys: Captured) -> None:
    run = answered(tmp_path)
    remit(tmp_path, "show", run)
    assert "Steps" not in capsys.readouterr().out
    remit(tmp_path, "show", run, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["agent"], found["workflow"], found["steps"]) == ("clerk", None, [])
