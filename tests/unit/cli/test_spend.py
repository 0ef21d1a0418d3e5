"""`remit spend`: what model calls cost, for people and for programs."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from remit import App
from remit.cli import main
from remit.store.payload import Compressed
from remit.testing.model import Say
from tests.unit.cli.stored import answered, clerk, paused, run_remit, store_in, stored

Captured = pytest.CaptureFixture[str]
APP = """
from remit import App
from tests.unit.cli.stored import clerk

app = App([clerk([])], store="STORE")
passing = App([clerk([])], store="memory:")
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the surroundings tells the store's address; an app of it is in a module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_STORE", raising=False)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "the_till.py").write_text(APP.replace("STORE", store_in(tmp_path)))
    yield
    sys.modules.pop("the_till", None)


def remit(folder: Path, *words: str) -> int:
    return main(["spend", *words, "--store", store_in(folder)])


def lines_of(capsys: Captured) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def content(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "desk.db")) as db:
        return list(db.iterdump())


def moved(folder: Path, run: str, day: str) -> None:
    """As if the run had been driven on that day."""
    with closing(sqlite3.connect(folder / "desk.db")) as db, db:
        at = "CAST(strftime('%s', ?) AS INTEGER) * 1000000"
        db.execute(f"UPDATE ledger SET at = {at} WHERE run = ?", (day, run))


def test_without_groups_days_are_told_with_bars_and_the_newest_last(
    tmp_path: Path, capsys: Captured
) -> None:
    moved(tmp_path, stored(tmp_path, [Say("x")]), "2026-01-02")
    moved(tmp_path, answered(tmp_path), "2026-01-01")

    assert remit(tmp_path) == 0

    assert capsys.readouterr().out.splitlines() == [
        "day            cost  estimated  calls",
        "2026-01-01  0.00375          0      2  ####################",
        "2026-01-02  0.00060          0      1  ####",
        "whole sum   0.00435          0      3",
    ]


def test_other_groups_are_a_table_with_the_dearest_first(tmp_path: Path, capsys: Captured) -> None:
    stored(tmp_path, [Say("x")], user="u_1")
    answered(tmp_path)
    stored(tmp_path, [Say("x")], user="a-user-with-a-long-id:and.more", tenant="t_1")

    assert remit(tmp_path, "--by", "user", "--by", "tenant", "--by", "user") == 0

    assert capsys.readouterr().out.splitlines() == [
        "user                            tenant     cost  estimated  calls",
        "u_1                             -       0.00435          0      3",
        "a-user-with-a-long-id:and.more  t_1     0.00060          0      1",
        "whole sum                               0.00495          0      4",
    ]


def test_programs_read_a_line_for_each_sum_and_money_as_text(
    tmp_path: Path, capsys: Captured
) -> None:
    answered(tmp_path)

    assert remit(tmp_path, "--by", "tenant", "--by", "purpose", "--json") == 0
    assert lines_of(capsys) == [
        {
            "v": 1,
            "kind": "spent",
            "by": {"tenant": None, "purpose": "turn"},
            "cost": "0.00375",
            "estimated": "0",
            "calls": 2,
        }
    ]


def test_sums_can_be_narrowed(tmp_path: Path, capsys: Captured) -> None:
    old = stored(tmp_path, [Say("x")], user="u_2", tenant="t_1")
    moved(tmp_path, old, "2026-01-02T12:00:00Z")
    answered(tmp_path)
    both, early, late = 3, 1, 2

    found = []
    for words in (
        [],
        ["--user", "u_2"],
        ["--tenant", "t_1"],
        ["--run", old],
        ["--agent", "clerk"],
        ["--since", "2026-01-02"],
        ["--since", "2026-01-02T14:00+02:00"],
        ["--since", "2026-01-02T12:00:01Z"],
        ["--until", "2026-01-03"],
        ["--until", "2026-01-02T12:00:01Z"],
        ["--since", "2026-01-02", "--until", "2026-01-03"],
        ["--days", "2"],
        ["--days", "1000000"],
    ):
        assert remit(tmp_path, "--json", *words) == 0
        found.append(sum(line["calls"] for line in lines_of(capsys)))

    assert found == [
        *(both, early, early, early, both),
        *(both, both, late),
        *(early, early, early, late, both),
    ]


@pytest.mark.parametrize(
    "words", [["--user", "nobody"], ["--agent", "no one"], ["--until", "1970-01-02"]]
)
def test_where_nothing_was_spent_that_is_said(
    words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    answered(tmp_path)

    assert remit(tmp_path, *words) == 0
    assert capsys.readouterr().out == "Nothing was spent: the ledger has no such calls.\n"
    assert remit(tmp_path, *words, "--json") == 0
    assert capsys.readouterr().out == ""


def test_it_only_reads(tmp_path: Path, capsys: Captured) -> None:
    answered(tmp_path)
    paused(tmp_path)
    before = content(tmp_path)

    assert remit(tmp_path, "--by", "run") == 0
    assert main(["spend", "--app", "the_till:app"]) == 0

    assert content(tmp_path) == before
    assert "whole sum" in capsys.readouterr().out


async def test_it_reads_beside_an_app_at_work_and_needs_no_codec(
    tmp_path: Path, capsys: Captured
) -> None:
    agents = [clerk([Say("x")])]
    async with App(agents, store=store_in(tmp_path), payload=Compressed()) as app:
        await app.run("clerk", "x", user="u_1")
        assert remit(tmp_path, "--by", "user", "--json") == 0
        (line,) = lines_of(capsys)
        (spent,) = await app.spend()

    assert (line["by"], line["cost"]) == ({"user": "u_1"}, str(spent.cost))


@pytest.mark.parametrize("command", [["spend"], ["runs", "list"], ["runs", "show", "run_1"]])
@pytest.mark.parametrize("by_app", [False, True], ids=["store", "app"])
def test_an_older_schema_is_left_alone_and_the_mend_is_told(
    by_app: bool, command: list[str], tmp_path: Path, capsys: Captured
) -> None:
    answered(tmp_path)
    with closing(sqlite3.connect(tmp_path / "desk.db")) as db:
        db.execute("PRAGMA user_version = 1")
    before = content(tmp_path)
    where = ["--app", "the_till:app"] if by_app else ["--store", store_in(tmp_path)]

    assert main([*command, *where]) == 1

    told = capsys.readouterr()
    assert "bring it up to date with `remit migrate`" in told.err
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert content(tmp_path) == before
    with closing(sqlite3.connect(tmp_path / "desk.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)


@pytest.mark.slow
def test_a_server_without_a_store_or_with_an_older_schema_is_left_so(
    database: str, capsys: Captured
) -> None:
    assert main(["spend", "--store", database]) == 2
    assert "no store at this address yet" in capsys.readouterr().err
    assert main(["migrate", "--check", database]) == 1
    assert "from schema 0 to" in capsys.readouterr().out
    assert main(["migrate", database]) == 0
    assert main(["spend", "--store", database]) == 0
    with psycopg.connect(database) as db:
        db.execute("DELETE FROM remit.migrations WHERE number > 1")
    assert main(["spend", "--store", database]) == 1
    assert "`remit migrate`" in capsys.readouterr().err
    assert main(["migrate", "--check", database]) == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--by", "colour"], 2, "--by takes any of user, tenant"),
        (["--user", "a@b"], 2, "is not an id"),
        (["--since", "soon"], 2, "--since takes a day, like 2026-11-30"),
        (["--until", "2026-01-01T12:00"], 2, "--until takes a day, like 2026-11-30"),
        (["--since", "1969-12-31"], 2, "from 1970"),
        (["--since", "2026-01-02", "--until", "2026-01-02"], 2, "an earlier --since"),
        (["--days", "0"], 2, "--days"),
        (["--days", "1", "--since", "2026-01-02"], 2, "and not both"),
        (["--store", "sqlite:///missing.db"], 2, "there is no database"),
        (["--store", "memory:"], 2, "nothing to look at"),
        (["--store", "sqlite:///text.db"], 1, "is no SQLite database"),
        (["--app", "the_till:passing"], 2, "in memory"),
        (["--app", "the_till:nothing"], 2, "has no 'nothing'"),
        (["--app", "the_till:app", "--store", "sqlite:///desk.db"], 2, "leave --store or --app"),
        (["colour"], 2, "colour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use_is_told_in_one_line(
    words: list[str],
    code: int,
    says: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered(tmp_path)
    (tmp_path / "text.db").write_text("no database at all, and long enough to be looked at")
    if "--app" not in words:
        monkeypatch.setenv("REMIT_STORE", store_in(tmp_path))

    assert main(["spend", *words]) == code

    told = capsys.readouterr()
    assert told.out == ""
    assert says in told.err
    assert told.err.count("\n") == 1


@pytest.mark.slow
def test_a_pipe_gets_the_same_page_without_colours(tmp_path: Path) -> None:
    moved(tmp_path, answered(tmp_path), "2026-01-01")

    done = run_remit("spend", folder=tmp_path, REMIT_STORE=store_in(tmp_path), FORCE_COLOR="1")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "day            cost  estimated  calls",
        "2026-01-01  0.00375          0      2  ####################",
        "whole sum   0.00375          0      2",
    ]
