"""`remit doctor`: what is wrong with a store and an app is told, to people and to programs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit import App, WorkflowRun, workflow
from remit.cli import main
from tests.unit.cli.stored import answered, paused, run_remit, store_in
from tests.unit.cli.test_entry import said_to_a_terminal

Captured = pytest.CaptureFixture[str]
DESK = """
from remit import Agent, App, Budget, Pricing, WorkflowRun, workflow
from remit.models.protocol import Card
from remit.testing.model import ScriptedModel

model = ScriptedModel([], card=Card(pricing=Pricing(input=3, output=15)))
desk = Agent(name="desk", model=model, budget=Budget(cost=1))
clerk = desk.replace(name="clerk", budget=Budget(turns=3))
number = 3


class Inner:
    app = App(agents=[clerk], store={store!r})


def make():
    return App(agents=[desk], store={store!r})


@workflow
async def onboard(run: WorkflowRun, name: str) -> None:
    return None


def renamed():
    teller = clerk.replace(name="teller", aliases=["clerk"])
    return App(agents=[teller], workflows=[onboard], store={store!r})


def flow():
    return App(workflows=[onboard], store={store!r})


def newer_flow():
    newer = workflow(name="onboard", version="2")(onboard.function)
    return App(workflows=[newer], store={store!r})


async def make_later():
    return make()


def unkept():
    return App(agents=[clerk], store="memory:")


def remote():
    return App(agents=[clerk], store="postgresql://me:secret@host/db")


def broken():
    return App(agents=[clerk, clerk], store="memory:")
"""


async def onboards(run: WorkflowRun, name: str) -> None:
    """A workflow's function."""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the surroundings tells the store's address, nor keeps a test's modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_STORE", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("the_"):
            del sys.modules[name]


@pytest.fixture
def desk(tmp_path: Path) -> str:
    """A module with apps, whose store has a run of the agent `clerk`."""
    paused(tmp_path)
    (tmp_path / "the_desk.py").write_text(DESK.replace("{store!r}", repr(store_in(tmp_path))))
    return "the_desk"


def found(capsys: Captured, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and the findings by their names but for the one about old SQLite."""
    code = main(["doctor", "--json", *words])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["v"] for line in lines} == {1}
    assert lines[-1]["kind"] == "doctor"
    return code, {
        line["name"]: line
        for line in lines
        if line["kind"] == "finding" and line["name"] != "sqlite-wal-reset"
    }


def test_nothing_is_wrong_with_a_sound_store(tmp_path: Path, capsys: Captured) -> None:
    answered(tmp_path)

    assert found(capsys, store_in(tmp_path)) == (0, {})
    assert main(["doctor", store_in(tmp_path)]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out


def test_what_is_wrong_is_told_with_its_mend(tmp_path: Path, capsys: Captured) -> None:
    assert main(["doctor", store_in(tmp_path)]) == 1

    told = capsys.readouterr().out
    assert "error: store-missing\n" in told
    assert "  Mend: check the address, or make it with `remit migrate`\n" in told
    assert list(tmp_path.iterdir()) == []


def test_json_lines_carry_level_name_what_and_mend(tmp_path: Path, capsys: Captured) -> None:
    code, findings = found(capsys, store_in(tmp_path))

    assert code == 1
    assert list(findings) == ["store-missing"]
    assert set(findings["store-missing"]) == {"v", "kind", "level", "name", "what", "mend"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Inner.app", []),
        ("renamed", []),
        ("make", ["cache-rates-missing", "orphan-runs"]),
        ("make_later", ["cache-rates-missing", "orphan-runs"]),
        ("flow", ["orphan-runs"]),
    ],
)
def test_an_app_is_an_object_or_a_function_that_gives_one(
    desk: str, name: str, expected: list[str], capsys: Captured
) -> None:
    code, findings = found(capsys, "--app", f"{desk}:{name}")

    assert list(findings) == expected
    assert code == (1 if expected else 0)


def test_an_app_s_store_is_looked_at_unless_another_is_given(
    desk: str, tmp_path: Path, capsys: Captured
) -> None:
    _, findings = found(capsys, f"sqlite:///{tmp_path}/other.db", "--app", f"{desk}:make")

    assert sorted(findings) == ["cache-rates-missing", "store-missing"]


def test_an_app_s_store_is_neither_made_nor_opened(
    desk: str, tmp_path: Path, capsys: Captured
) -> None:
    for file in tmp_path.glob("desk.db*"):
        file.unlink()

    _, findings = found(capsys, "--app", f"{desk}:Inner.app")

    assert list(findings) == ["store-missing"]
    assert not list(tmp_path.glob("desk.db*"))


@pytest.mark.slow
def test_a_postgresql_database_is_looked_at_by_its_address(database: str, capsys: Captured) -> None:
    _, before = found(capsys, database)
    main(["migrate", database])
    capsys.readouterr()
    _, after = found(capsys, database)

    # The tests' server has fsync off.
    assert list(before) == ["store-missing", "fsync-off"]
    assert list(after) == ["fsync-off"]


def test_a_store_in_memory_is_not_looked_into(desk: str, capsys: Captured) -> None:
    code, findings = found(capsys, "--app", f"{desk}:unkept")

    assert code == 0
    assert list(findings) == ["store-unseen"]


def test_an_app_that_cannot_be_made_is_a_finding(desk: str, capsys: Captured) -> None:
    code, findings = found(capsys, "--app", f"{desk}:broken")

    assert code == 1
    assert "two agents named 'clerk'" in findings["app-broken"]["mend"]


def test_a_module_that_fails_is_a_finding(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "the_failing.py").write_text("import the_missing_package\n")

    code, findings = found(capsys, "--app", "the_failing:app")

    assert code == 1
    assert "ModuleNotFoundError: No module named 'the_missing" in findings["app-broken"]["what"]


@pytest.mark.parametrize("asked", ["address", "app"])
def test_a_driver_that_is_missing_is_a_finding(
    asked: str, desk: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for name in [name for name in sys.modules if name.startswith("remit.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    words = {"address": ["postgresql://me:secret@host/db"], "app": ["--app", f"{desk}:remote"]}

    code, findings = found(capsys, *words[asked])

    assert code == 1
    assert findings["package-missing"]["mend"] == "pip install '.[postgres]' in a clone of remit"


def test_a_model_s_package_that_is_missing_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (tmp_path / "the_app.py").write_text(
        "from remit import Agent, App, Budget\n"
        "desk = Agent(name='desk', model='openai:gpt-5.1', budget=Budget(turns=1))\n"
        "app = App(agents=[desk], store='memory:')\n"
    )
    monkeypatch.setitem(sys.modules, "openai", None)

    code, findings = found(capsys, "--app", "the_app:app")

    assert code == 1
    assert findings["package-missing"]["mend"] == "pip install '.[openai]' in a clone of remit"


@pytest.mark.parametrize(
    "words",
    [
        ["memory:"],
        ["desk.db"],
        ["--app", "the_desk"],
        ["--app", "the_desk:nothing"],
        ["--app", "the_desk:number"],
        ["--app", "the_absent:app"],
        ["--app", "the_absent.below:app"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_wrong_use(words: list[str], desk: str, capsys: Captured) -> None:
    code = main(["doctor", *words])

    told = capsys.readouterr()
    assert code == 2
    assert told.err.count("\n") == 1
    assert told.out == ""


@pytest.mark.slow
def test_a_pipe_gets_no_colours_and_a_terminal_does(tmp_path: Path) -> None:
    store = store_in(tmp_path)

    piped = run_remit("doctor", store, folder=tmp_path, FORCE_COLOR="1")
    shown = said_to_a_terminal("doctor", store, TERM="xterm")

    assert piped.returncode == 1
    assert "\x1b" not in piped.stdout
    assert piped.stdout.isascii()
    assert "\x1b[" in shown
    assert "store-missing" in shown


def test_a_folder_that_is_missing_is_to_be_made(tmp_path: Path, capsys: Captured) -> None:
    code, findings = found(capsys, store_in(tmp_path / "nowhere"))

    assert code == 1
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in findings["store-missing"]["what"]
    assert "make it" in findings["store-missing"]["mend"]


@pytest.mark.parametrize(
    ("name", "kind", "given"),
    [
        ("newer_flow", "no such workflow; it has onboard@2", "a @workflow(name='onboard'"),
        ("make", "no such agent or workflow", "or a @workflow(name='onboard'"),
    ],
)
def test_an_orphan_s_mend_names_what_it_is(
    name: str, kind: str, given: str, desk: str, tmp_path: Path, capsys: Captured
) -> None:
    async def begin() -> None:
        flow = workflow(name="onboard")(onboards)
        async with App(workflows=[flow], store=store_in(tmp_path), work=False) as app:
            await app.start("onboard", "Ann")

    asyncio.run(begin())
    main(["doctor", "--json", "--app", f"{desk}:{name}"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (orphan,) = [line for line in lines if "onboard@1" in line.get("what", "")]
    assert kind in orphan["what"]
    assert given in orphan["mend"]


@pytest.mark.parametrize("command", ["doctor", "migrate"])
def test_the_address_is_told_or_in_the_environment_or_asked_for(
    command: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([command]) == 2
    assert "set REMIT_STORE" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main([command, "--help"]) == 0
    assert "REMIT_STORE; without either it is wrong" in " ".join(capsys.readouterr().out.split())
    answered(tmp_path)
    monkeypatch.setenv("REMIT_STORE", store_in(tmp_path))
    assert main([command]) == 0
