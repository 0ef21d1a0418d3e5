"""`remit runs`: an operator sees what is in a store, decides what waits, and learns the status."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.cli import main
from remit.testing.model import Say
from tests.unit.cli.stored import (
    answered,
    cancelled,
    driven_on,
    failed,
    limited,
    paused,
    store_in,
    stored,
)

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the surroundings tells the store's address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_STORE", raising=False)


def remit(folder: Path, *arguments: str) -> int:
    return main(["runs", *arguments, "--store", store_in(folder)])


def lines_of(capsys: Captured) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def shown(folder: Path, run: str, capsys: Captured) -> dict[str, Any]:
    remit(folder, "show", run, "--json")
    (found,) = lines_of(capsys)
    return found


def pending_of(folder: Path, run: str, capsys: Captured) -> list[str]:
    return [call["id"] for call in shown(folder, run, capsys)["pending"]]


def test_runs_are_listed_newest_first_in_columns_that_line_up(
    tmp_path: Path, capsys: Captured
) -> None:
    older, newer = answered(tmp_path), paused(tmp_path)

    code = remit(tmp_path, "list")

    title, first, second = capsys.readouterr().out.splitlines()
    assert code == 0
    assert first.startswith(f"{newer}  paused     ")
    assert second.startswith(f"{older}  succeeded  ")
    assert title.index("user") == first.index("u_1") == second.index("u_1")


def test_a_list_can_be_narrowed_and_paged(tmp_path: Path, capsys: Captured) -> None:
    older, newer = answered(tmp_path), paused(tmp_path)
    asked = [
        ["--status", "paused"],
        ["--limit", "1"],
        ["--before", newer],
        ["--user", "u_2"],
    ]

    found = []
    for words in asked:
        assert remit(tmp_path, "list", "--json", *words) == 0
        found.append([line["id"] for line in lines_of(capsys)])

    assert found == [[newer], [newer], [older], []]


def test_an_empty_list_says_so(tmp_path: Path, capsys: Captured) -> None:
    answered(tmp_path)

    assert remit(tmp_path, "list", "--status", "queued") == 0
    assert capsys.readouterr().out == "No runs.\n"


def test_json_lines_carry_their_version(tmp_path: Path, capsys: Captured) -> None:
    run = answered(tmp_path)

    remit(tmp_path, "list", "--json")
    remit(tmp_path, "show", run, "--json")

    assert [line["v"] for line in lines_of(capsys)] == [1, 1]


@pytest.mark.parametrize(
    ("make", "code"), [(answered, 0), (paused, 3), (limited, 4), (failed, 1), (cancelled, 1)]
)
def test_showing_a_run_exits_by_its_state(
    make: Callable[[Path], str], code: int, tmp_path: Path, capsys: Captured
) -> None:
    run = make(tmp_path)

    assert remit(tmp_path, "show", run) == code
    assert remit(tmp_path, "show", run, "--json") == code


def test_a_run_is_shown_with_all_that_is_known_of_it(tmp_path: Path, capsys: Captured) -> None:
    run = answered(tmp_path)

    remit(tmp_path, "show", run)

    told = capsys.readouterr().out
    for words in (
        f"Run {run}",
        "status   succeeded",
        "finish   answer",
        "user     u_1",
        "thread   t_1",
        "tokens   1100 in, 30 out",
        "cost     0.00375",
        "Turn 0  scripted:model  100 in, 20 out  cost 0.0006",
        'look_up(what="A-1")',
        "ok: A-1 is there",
        "Turn 1  scripted:model  1000 in, 10 out  cost 0.00315",
        "  It is there.",
    ):
        assert words in told
    assert "Next" not in told


def test_why_a_run_stopped_is_shown(tmp_path: Path, capsys: Captured) -> None:
    remit(tmp_path, "show", failed(tmp_path))
    remit(tmp_path, "show", cancelled(tmp_path))

    told = capsys.readouterr().out
    assert "error    ProviderError: " in told
    assert "no such model" in told
    assert "reason   not wanted any more" in told


def test_what_a_model_wrote_cannot_steer_the_terminal(tmp_path: Path, capsys: Captured) -> None:
    run = stored(tmp_path, [Say("\x1b[2Jgone \u202eknab\x07 \ud800 é\u200d")])

    remit(tmp_path, "show", run)
    plain = capsys.readouterr().out
    found = shown(tmp_path, run, capsys)

    assert "\\x1b[2Jgone \\u202eknab\\x07 \\ud800 é\u200d" in plain
    assert found["text"] == "\x1b[2Jgone \u202eknab\x07 \ud800 é\u200d"


def test_the_only_call_that_waits_is_approved_without_its_id(
    tmp_path: Path, capsys: Captured
) -> None:
    run = paused(tmp_path)

    code = remit(tmp_path, "approve", run, "--by", "staff_3", "--role", "staff")

    assert code == 0
    assert "Approved" in capsys.readouterr().out
    (call,) = shown(tmp_path, run, capsys)["turns"][0]["calls"]
    assert call["decision"]["verdict"] == "approve"
    assert call["decision"]["by"] == {"user": "staff_3", "tenant": None, "roles": ["staff"]}
    assert driven_on(tmp_path, run, [Say("done")]).status == "succeeded"


def test_what_is_to_be_typed_next_works_as_it_is_printed(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path)
    line = shown(tmp_path, run, capsys)["next"][0]

    words = shlex.split(line.replace("--by USER", "--by staff_3"))
    code = main(words[words.index("runs") :])

    assert code == 0
    assert driven_on(tmp_path, run, [Say("done")]).status == "succeeded"


def test_of_several_that_wait_one_has_to_be_named(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path, calls=2)
    first, second = pending_of(tmp_path, run, capsys)

    code = remit(tmp_path, "approve", run, "--by", "staff_3")

    told = capsys.readouterr()
    assert code == 2
    assert told.out == ""
    assert f'{first} pay(to="c_1", amount=1)' in told.err
    assert f'{second} pay(to="c_2", amount=2)' in told.err


def test_a_decided_call_waits_no_longer(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path, calls=2)
    first, second = pending_of(tmp_path, run, capsys)

    assert remit(tmp_path, "approve", run, first, "--by", "staff_3", "--json") == 0
    (told,) = lines_of(capsys)
    left = pending_of(tmp_path, run, capsys)
    assert remit(tmp_path, "approve", run, "--by", "staff_3") == 0

    assert (told["verdict"], told["calls"], told["left"]) == ("approved", [first], 1)
    assert left == [second]
    assert driven_on(tmp_path, run, [Say("done")]).status == "succeeded"


def test_a_denied_call_does_not_run_and_the_model_reads_why(
    tmp_path: Path, capsys: Captured
) -> None:
    run = paused(tmp_path)
    (call,) = pending_of(tmp_path, run, capsys)

    code = remit(tmp_path, "deny", run, call, "--reason", "too much", "--by", "staff_3")

    ended = driven_on(
        tmp_path,
        run,
        [lambda request: Say(request.messages[-1].text)],  # the tool's result
    )
    assert code == 0
    assert "too much" in ended.text
    remit(tmp_path, "show", run)
    assert "denied by staff_3" in capsys.readouterr().out


@pytest.mark.parametrize("calls", [1, 2])
def test_the_second_to_decide_is_told_who_was_first(
    calls: int, tmp_path: Path, capsys: Captured
) -> None:
    run = paused(tmp_path, calls=calls)
    call = pending_of(tmp_path, run, capsys)[0]
    remit(tmp_path, "approve", run, call, "--by", "staff_3")
    capsys.readouterr()

    code = remit(tmp_path, "deny", run, call, "--reason", "no", "--by", "staff_4")

    told = capsys.readouterr().err
    assert code == 1
    assert call in told
    assert "staff_3" in told
    assert told.count("\n") == 1


def test_who_decided_is_told_when_nothing_waits_any_more(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path)
    remit(tmp_path, "approve", run, "--by", "staff_3")
    driven_on(tmp_path, run, [Say("done")])
    capsys.readouterr()

    code = remit(tmp_path, "approve", run, "--by", "staff_4")

    assert code == 1
    assert "staff_3" in capsys.readouterr().err


def test_a_call_that_does_not_wait_is_refused(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path)
    (call,) = pending_of(tmp_path, run, capsys)

    code = remit(tmp_path, "approve", run, "call_x", "--by", "staff_3")

    assert code == 1
    assert call in capsys.readouterr().err
    assert pending_of(tmp_path, run, capsys) == [call]


def test_a_waiting_run_is_cancelled(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path)

    code = remit(tmp_path, "cancel", run, "--reason", "a mistake", "--by", "staff_3", "--json")

    (told,) = lines_of(capsys)
    assert code == 0
    assert told["status"] == "cancelled"
    assert shown(tmp_path, run, capsys)["reason"] == "a mistake"
    assert remit(tmp_path, "cancel", run) == 0


def test_a_run_that_was_answered_cannot_be_cancelled(tmp_path: Path, capsys: Captured) -> None:
    run = answered(tmp_path)

    code = remit(tmp_path, "cancel", run)

    assert code == 1
    assert "had ended already: succeeded" in capsys.readouterr().out


def test_the_stores_address_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    run = paused(tmp_path)
    monkeypatch.setenv("REMIT_STORE", store_in(tmp_path))

    code = main(["runs", "show", run])

    assert code == 3
    assert "--store" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["list"], 2, "remit.db: give the store's address with --store or REMIT_STORE"),
        (["show", "run_x"], 2, "there is no database"),
        (["approve", "run_x", "--by", "s"], 2, "there is no database"),
        (["deny", "run_x", "c", "--reason", "r", "--by", "s"], 2, "there is no database"),
        (["cancel", "run_x"], 2, "there is no database"),
        (["list", "--store", "sqlite:///no/where.db"], 2, "there is no database"),
        (["list", "--store", "memory:"], 2, "nothing to look at"),
        (["list", "--store", "desk.db"], 2, "is no store's address"),
        (["list", "--store", "mysql://x"], 2, "is no kind of store"),
        (["list", "--store", "sqlite:///a%00b"], 2, "%00"),
        (["list", "--store", "sqlite:///."], 1, "is a folder"),
        (["list", "--store", "sqlite:///empty.db"], 2, "is empty"),
        (["list", "--store", "sqlite:///text.db"], 1, "is no SQLite database"),
        (["list", "--store", "sqlite:///other.db"], 1, "another program's database"),
        (["list", "--status", "gone"], 2, "--status"),
        (["list", "--limit", "0"], 2, "--limit"),
        (["show"], 2, "RUN"),
        (["approve", "run_x"], 2, "--by"),
        (["deny", "run_x", "c", "--by", "s"], 2, "--reason"),
        (["shwo"], 2, "shwo"),
        ([], 2, "Missing command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_users_mistake_is_one_line_and_makes_no_database(
    words: list[str], code: int, told: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("no database at all, and long enough to be looked at")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t(x)")
    other.close()
    before = sorted(path.name for path in tmp_path.iterdir())

    found = main(["runs", *words])

    said = capsys.readouterr()
    assert found == code
    assert told in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert [
        n for n in sorted(p.name for p in tmp_path.iterdir()) if "checkpoint" not in n
    ] == before


@pytest.mark.parametrize("command", [["show"], ["approve", "--by", "s"], ["cancel"]])
def test_an_unknown_run_is_told_with_where_to_look(
    command: list[str], tmp_path: Path, capsys: Captured
) -> None:
    answered(tmp_path)

    code = remit(tmp_path, command[0], "run_x", *command[1:])

    assert code == 2
    assert "remit runs list" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["approve"], ["deny", "c", "--reason", "r"], ["cancel"]])
def test_who_decides_is_an_id(command: list[str], tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path)

    code = remit(tmp_path, command[0], run, *command[1:], "--by", "a.person@example.org")

    assert code == 2
    assert "--by" in capsys.readouterr().err
    assert len(pending_of(tmp_path, run, capsys)) == 1


def test_a_database_of_a_newer_remit_is_left_alone(tmp_path: Path, capsys: Captured) -> None:
    answered(tmp_path)
    db = sqlite3.connect(tmp_path / "desk.db")
    db.execute("PRAGMA user_version = 99")
    db.close()

    code = remit(tmp_path, "list")

    assert code == 1
    assert "update remit" in capsys.readouterr().err
