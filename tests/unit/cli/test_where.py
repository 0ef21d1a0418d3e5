"""Where a command looks: an app's store with its codec, and from within a loop."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from cryptography.fernet import Fernet

from remit import App, WorkflowRun, workflow
from remit.cli import main
from remit.errors import ConfigError
from remit.store.payload import Encrypted
from remit.testing.model import Call
from tests.unit.cli.stored import clerk, paused, store_in

Captured = pytest.CaptureFixture[str]
KEY = Fernet.generate_key()
BUREAU = """
    from remit import App, WorkflowRun, workflow
    from remit.store.payload import Encrypted
    from tests.unit.cli.stored import clerk

    @workflow
    async def sign(run: WorkflowRun, text: str) -> str:
        return await run.ask(text, returns=str)

    app = App([clerk([])], workflows=[sign], store="STORE", payload=Encrypted("KEY"))
    passing = App([clerk([])], store="memory:")
"""


@workflow
async def sign(run: WorkflowRun, text: str) -> str:
    return await run.ask(text, returns=str)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An app in a module of its own, whose store is encrypted; it is not left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_STORE", raising=False)
    monkeypatch.setattr(sys, "path", sys.path[:])
    source = dedent(BUREAU).replace("STORE", store_in(tmp_path)).replace("KEY", KEY.decode())
    (tmp_path / "bureau.py").write_text(source)
    yield
    sys.modules.pop("bureau", None)


def app_in(folder: Path, *items: Any) -> App:
    agents = [clerk(list(items))]
    return App(agents, workflows=[sign], store=store_in(folder), payload=Encrypted(KEY))


def begun(folder: Path) -> tuple[str, str]:
    """Encrypted runs that wait: an agent's, and a workflow's."""

    async def begin() -> tuple[str, str]:
        calls = [Call("pay", to="xyzzy", amount=1), Call("pay", to="xyzzy", amount=2)]
        async with app_in(folder, calls) as app:
            return (await app.run("clerk", "x")).id, (await app.run("sign", "xyzzy?")).id

    return asyncio.run(begin())


def remit(*arguments: str) -> int:
    return main(["runs", *arguments, "--app", "bureau:app"])


def shown(run: str, capsys: Captured) -> dict[str, Any]:
    capsys.readouterr()
    assert remit("show", run, "--json") == 3
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def bodies(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("desk.db*"))


def test_an_encrypted_stores_runs_are_seen_and_decided_by_its_app(
    tmp_path: Path, capsys: Captured
) -> None:
    run, question = begun(tmp_path)
    assert remit("list", "--status", "paused") == 0
    assert run in capsys.readouterr().out
    assert "runs approve" in "".join(shown(run, capsys)["next"])
    assert all(line.endswith("--app bureau:app") for line in shown(run, capsys)["next"])
    one, other = [call["id"] for call in shown(run, capsys)["pending"]]
    assert remit("approve", run, one, "--by", "staff_1") == 0
    assert remit("deny", run, other, "--reason", "xyzzy", "--by", "staff_1") == 0
    assert remit("answer", question, "ask:0", "yes", "--by", "staff_1") == 0
    assert remit("send", run, "xyzzy", "--by", "staff_1") == 0
    assert remit("cancel", run, "--reason", "xyzzy") == 0
    assert b"xyzzy" not in bodies(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "RUN"],
        ["approve", "RUN", "--by", "u_1"],
        ["deny", "RUN", "1", "--reason", "xyzzy", "--by", "u_1"],
        ["answer", "RUN", "ask:0", "xyzzy", "--by", "u_1"],
        ["send", "RUN", "xyzzy", "--by", "u_1"],
        ["cancel", "RUN", "--reason", "xyzzy"],
    ],
    ids=lambda words: words[0],
)
def test_without_the_app_an_encrypted_run_says_to_name_it(
    words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    for run in begun(tmp_path):
        asked = [run if word == "RUN" else word for word in words]
        assert main(["runs", *asked, "--store", store_in(tmp_path)]) == 1
        told = capsys.readouterr()
        assert "--app MODULE:APP" in told.err
        assert told.out == ""
    assert b"xyzzy" not in bodies(tmp_path)


def test_an_app_without_a_store_to_look_at_is_told_so(tmp_path: Path, capsys: Captured) -> None:
    assert remit("list") == 2
    assert "not made yet" in capsys.readouterr().err
    assert not list(tmp_path.glob("desk.db*"))
    assert main(["runs", "list", "--app", "bureau:passing"]) == 2
    assert "in memory" in capsys.readouterr().err
    assert remit("list", "--store", store_in(tmp_path)) == 2
    assert "leave --store or --app out" in capsys.readouterr().err


def test_the_environments_address_stands_where_nothing_is_told(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = paused(tmp_path)
    monkeypatch.setenv("REMIT_STORE", store_in(tmp_path))
    assert main(["runs", "show", run]) == 3
    assert "--store" not in capsys.readouterr().out


async def test_commands_work_where_a_loop_runs(tmp_path: Path, capsys: Captured) -> None:
    async with app_in(tmp_path, Call("pay", to="c_1", amount=1)) as app:
        run = await app.run("clerk", "x")
        assert main(["doctor", store_in(tmp_path)]) in (0, 1)
        assert remit("show", run.id) == 3
        assert "pay" in capsys.readouterr().out
        assert main(["runs", "list", "--app", "nothing:here"]) == 2
        call = run.pending[0].id
        assert remit("deny", run.id, call, "--reason", "no", "--by", "staff_1") == 0
        assert (await app.get(run.id)).pending == ()


async def test_an_app_that_is_open_here_is_not_opened_again_behind_its_back(
    tmp_path: Path, capsys: Captured
) -> None:
    async with app_in(tmp_path) as app:
        with pytest.raises(ConfigError, match="open in this process"):
            app.idle()
        assert await app.runs() == []
