"""`remit migrate`: a store's schema is brought up to date, or that is told to be due."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from remit.cli import address, main
from remit.store.migrations import scripts
from tests.unit.cli.stored import run_remit

NEWEST = scripts("remit.store.sqlite")[-1].number
Captured = pytest.CaptureFixture[str]


@pytest.fixture(
    params=[
        pytest.param("sqlite", id="sqlite"),
        pytest.param("postgres", id="postgres", marks=pytest.mark.slow),
    ]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a place where no store is made yet."""
    if request.param == "sqlite":
        return address.of_file(tmp_path / "desk.db")
    found: str = request.getfixturevalue("database")
    return found


def told(capsys: Captured) -> str:
    return capsys.readouterr().out


def test_a_store_is_made_and_then_left_alone(store: str, capsys: Captured) -> None:
    assert main(["migrate", store]) == 0
    assert "Migrated from schema 0 to" in told(capsys)
    assert main(["migrate", store]) == 0
    assert "nothing to do" in told(capsys)


def test_a_check_tells_what_is_due_and_changes_nothing(store: str, capsys: Captured) -> None:
    assert main(["migrate", "--check", store]) == 1
    assert main(["migrate", "--check", store]) == 1
    assert told(capsys).count("from schema 0 to") == 2
    main(["migrate", store])
    assert main(["migrate", "--check", store]) == 0


def test_json_lines_tell_from_and_to(store: str, capsys: Captured) -> None:
    for words in (["--check"], [], ["--check"]):
        main(["migrate", store, "--json", *words])

    due, done, after = map(json.loads, told(capsys).splitlines())
    newest = due["to"]
    expected = {"v": 1, "kind": "migrate", "to": newest}
    assert due == {**expected, "from": 0, "due": True, "done": False}
    assert done == {**expected, "from": 0, "due": False, "done": True}
    assert after == {**expected, "from": newest, "due": False, "done": False}


def test_the_address_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_STORE", address.of_file(tmp_path / "there.db"))

    assert main(["migrate"]) == 0
    assert (tmp_path / "there.db").exists()


@pytest.mark.parametrize("words", [[], ["memory:"], ["desk.db"], ["sqlite:///"]], ids=str)
def test_an_address_that_cannot_be_meant_is_wrong_use(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.delenv("REMIT_STORE", raising=False)

    assert main(["migrate", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["--check"]], ids=str)
def test_a_newer_schema_is_refused_with_the_mend(
    words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "desk.db"
    main(["migrate", address.of_file(path)])
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {NEWEST + 1}")

    assert main(["migrate", address.of_file(path), *words]) == 1
    assert "update remit" in capsys.readouterr().err


@pytest.mark.slow
def test_it_is_plain_in_a_pipe(tmp_path: Path) -> None:
    done = run_remit("migrate", "sqlite:///desk.db", folder=tmp_path, FORCE_COLOR="1")

    assert done.stdout == f"Migrated from schema 0 to {NEWEST}.\n"
