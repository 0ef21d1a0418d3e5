"""The demo: real processes, a real SIGKILL, one refund, and the truth about it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import random
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from remit import App, Caller
from remit.cli.demo import messages, stage, story, workers
from remit.cli.demo.agent import GRANT, Desk, help_desk
from remit.cli.demo.messages import CustomerMessage
from remit.cli.demo.orders import OrderBook
from remit.cli.demo.run import Options, demo

UNSEEN = Path(__file__).parent / "unseen_messages.jsonl"

SHIPPED_REFUNDS = {
    "A-1045": "20.00",
    "A-1046": "64.50",
    "A-1048": "15.00",
    "A-1049": "150.00",
    "A-1051": "42.00",
    "A-1052": "12.50",
    "A-1053": "18.90",
    "A-1054": "31.00",
    "A-1058": "38.20",
    "A-1060": "20.00",
}
UNSEEN_REFUNDS = {
    "A-1045": "35.50",
    "A-1046": "15.00",
    "A-1048": "10.00",
    "A-1049": "240.00",
    "A-1053": "5.00",
    "A-1054": "5.00",
    "A-1058": "19.10",
}


@dataclass
class Told:
    """What a demo printed in JSON lines, and its exit status."""

    code: int
    lines: list[dict[str, Any]]

    def step(self, name: str) -> dict[str, Any]:
        """The first line of a step."""
        return next(line for line in self.lines if line.get("step") == name)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]

    @property
    def books(self) -> dict[str, Any]:
        (books,) = self.of("books")
        return books

    @property
    def refunds(self) -> dict[str, str]:
        return {one["order"]: one["amount"] for one in self.books["refunds"]}

    @property
    def end(self) -> dict[str, Any]:
        return self.step("end")


def remit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`remit` in a process of its own, its output in a pipe, its fresh folders in `folder`."""
    return subprocess.run(
        [sys.executable, "-m", "remit.cli", *words],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
        env={**os.environ, "FORCE_COLOR": "1", "TMPDIR": str(folder)},
    )


def played(folder: Path, *words: str) -> Told:
    done = remit(folder, "demo", "--json", *words)
    assert done.stderr == ""
    return Told(done.returncode, [json.loads(line) for line in done.stdout.splitlines()])


def written(folder: Path, asked: list[CustomerMessage]) -> str:
    """A file of messages."""
    file = folder / "messages.jsonl"
    lines = [json.dumps({"id": one.id, "user": one.user, "text": one.text}) for one in asked]
    file.write_text("\n".join(lines))
    return str(file)


def shuffled(asked: list[CustomerMessage], seed: int) -> list[CustomerMessage]:
    return random.Random(seed).sample(asked, len(asked))


def check_the_story(told: Told, refunds: dict[str, str]) -> None:
    """The worker was killed between commit and record, another one went on, nobody was paid
    twice, and every run was answered."""
    killed, cut, repeated = told.step("killed"), told.step("cut"), told.step("repeated")
    keys = Counter(one["key"] for one in told.books["refunds"])
    again = [one for one in told.books["refunds"] if one["entered"] > 1]

    assert told.end["problems"] == []
    assert told.code == 0
    assert killed["returncode"] == -signal.SIGKILL
    assert (cut["refunds"], cut["entered"]) == (1, 1)
    assert (repeated["key"], repeated["refunds"]) == (cut["key"], 1)
    assert cut["key"] in [one["key"] for one in again]
    assert set(keys.values()) == {1}
    assert {one["refunds"] for one in told.books["refunds"]} == {1}
    assert told.refunds == refunds
    assert set(told.books["runs"]) == {"succeeded"}
    assert told.books["pending"] == 0


@pytest.mark.slow
def test_the_demo_tells_its_story_to_a_program(tmp_path: Path) -> None:
    told = played(tmp_path)

    check_the_story(told, SHIPPED_REFUNDS)
    waits, decided = told.step("waits"), told.step("decided")
    assert waits["arguments"] == {"order": "A-1049", "amount": "150.00"}
    assert decided["by"] == "staff_3"
    assert decided["approved"] == [waits["call"]]
    assert told.books["entries"] > told.books["refund_rows"] == len(SHIPPED_REFUNDS)
    assert Decimal(told.books["spend"]["total"]) > 0
    assert "made-up" in told.books["spend"]["rates"]
    assert {line["v"] for line in told.lines} == {1}
    assert {"tool_call", "tool_result", "usage", "turn", "pending", "done"} <= {
        line["kind"] for line in told.lines
    }


@pytest.mark.slow
def test_the_demo_tells_its_story_to_a_pipe(tmp_path: Path) -> None:
    done = remit(tmp_path, "demo", "--dir", str(tmp_path / "demo"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert not set("─━│┃╭╮╰╯█") & set(done.stdout)  # box drawing
    for words in (
        "a set of rules and not a language model",
        "made-up rates",
        "return code -9",
        "its result is not",
        "entered 2 times with one key",
        "holds 1 refund for it",
        "A refund over 100 waits for a person",
        "Approved by staff_3",
        "Everything was as it must be",
    ):
        assert words in done.stdout
    further = [line.strip() for line in done.stdout.splitlines() if " -m remit.cli runs " in line]
    listed, shown = (
        subprocess.run(shlex.split(line), capture_output=True, text=True, check=False)
        for line in further[-2:]
    )
    assert listed.returncode == shown.returncode == 0
    assert listed.stdout.count("succeeded") == len(messages.shipped())
    assert "refund(" in shown.stdout


@pytest.mark.slow
def test_the_demo_tells_its_story_to_a_terminal(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "remit.cli", "demo", "--dir", str(tmp_path / "demo")],
        stdout=terminal,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal without a writer so.
        while piece := os.read(controller, 65536):
            said += piece
    os.close(controller)
    _, complaints = running.communicate(timeout=50)

    assert running.returncode == 0
    assert complaints == b""
    for words in ("\x1b[", "return code -9", "22 ended", "Everything was as it must be"):
        assert words in said.decode()


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_the_demo_without_a_word(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "remit.cli", "demo", "--dir", str(tmp_path / "demo")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    while "Worker A" not in running.stdout.readline():
        pass
    running.stdout.close()

    assert running.wait(timeout=50) == 141
    assert running.stderr.read() == ""
    running.stderr.close()


@pytest.mark.slow
def test_unseen_messages_are_understood_and_told_the_same_way(tmp_path: Path) -> None:
    check_the_story(played(tmp_path, "--messages", str(UNSEEN)), UNSEEN_REFUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_story_is_the_same_in_any_order(seed: int, tmp_path: Path) -> None:
    file = written(tmp_path, shuffled(messages.shipped(), seed))

    check_the_story(played(tmp_path, "--messages", file), SHIPPED_REFUNDS)


@pytest.mark.slow
def test_a_worker_dies_in_a_refund_that_was_approved_if_there_is_no_other(tmp_path: Path) -> None:
    asked = [CustomerMessage("m_1", "u_109", "refund 150 euros on A-1049")]

    told = played(tmp_path, "--messages", written(tmp_path, asked))

    check_the_story(told, {"A-1049": "150.00"})
    steps = [line["step"] for line in told.of("demo")]
    assert steps.index("decided") < steps.index("killed")


@pytest.mark.slow
def test_without_a_refund_nothing_is_claimed_that_was_not_shown(tmp_path: Path) -> None:
    asked = [CustomerMessage("m_1", "u_101", "where is A-1042")]

    told = played(tmp_path, "--messages", written(tmp_path, asked))

    assert told.code == 0
    assert "With no refund there was no moment" in told.end["text"]
    assert "killed" not in [line.get("step") for line in told.lines]


async def refunds_in_process(asked: list[CustomerMessage], folder: Path) -> dict[str, str]:
    """What the desk refunds, driven here on the memory store, every pause approved."""
    orders = OrderBook(folder / "orders.db")
    orders.make()
    desk = Desk(orders)
    async with App(
        agents=[help_desk()], store="memory:", grant=GRANT, deps=lambda user, tenant: desk
    ) as app:
        runs = [await app.start("desk", one.text, user=one.user, thread=one.id) for one in asked]
        for id_ in runs:
            run = await app.wait(id_)
            if run.status == "paused":
                calls = [one.id for one in run.pending]
                await app.decide(id_, approve=calls, by=Caller(user="staff_3"))
                run = await app.wait(id_)
            assert (run.status, run.finish) == ("succeeded", "answer")
    with sqlite3.connect(orders.path) as db:
        assert db.execute("SELECT count(*) FROM replies").fetchone() == (len(asked),)
    db.close()
    return {one.order: str(one.amount) for one in orders.counts()}


@pytest.mark.parametrize("seed", range(5))
async def test_the_rules_decide_the_same_in_any_order(seed: int, tmp_path: Path) -> None:
    asked = shuffled(messages.shipped(), seed)

    assert await refunds_in_process(asked, tmp_path) == SHIPPED_REFUNDS


async def test_the_rules_understand_messages_that_they_have_not_seen(tmp_path: Path) -> None:
    assert await refunds_in_process(messages.of_file(UNSEEN), tmp_path) == UNSEEN_REFUNDS


def spoiled(folder: Path, capsys: pytest.CaptureFixture[str], asked: str | None = None) -> Told:
    """A demo in this process, whose parts a test has spoiled."""
    options = Options(
        folder=folder / "demo", messages=None if asked is None else Path(asked), json=True
    )
    code = asyncio.run(demo(options))
    return Told(code, [json.loads(line) for line in capsys.readouterr().out.splitlines()])


@pytest.mark.slow
def test_two_refunds_for_one_key_are_told_and_fail_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make = OrderBook.make

    def make_without_the_key(book: OrderBook) -> None:
        make(book)
        with sqlite3.connect(book.path) as db:
            db.executescript(
                "DROP TABLE refunds; CREATE TABLE refunds(key TEXT, number TEXT, cents INTEGER);"
                "CREATE TRIGGER twice AFTER INSERT ON refunds BEGIN"
                " INSERT INTO refunds VALUES (new.key, new.number, 1); END;"
            )
        db.close()

    monkeypatch.setattr(OrderBook, "make", make_without_the_key)

    told = spoiled(tmp_path, capsys)

    assert told.code == 1
    assert told.end["ok"] is False
    assert any("holds 2 refunds for the key" in problem for problem in told.end["problems"])


@pytest.mark.slow
def test_a_worker_that_was_not_killed_fails_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def harmless(name: str, place: stage.Stage, tasks: Any, on_end: Any, **_: Any) -> Any:
        return workers.worker(name, place, tasks, on_end)

    monkeypatch.setattr(story, "worker", harmless)

    told = spoiled(tmp_path, capsys)

    assert told.code == 1
    assert "worker A was not killed" in told.end["problems"]


def test_a_worker_that_cannot_start_fails_the_demo_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 7\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))

    told = spoiled(tmp_path, capsys, str(UNSEEN))

    assert told.code == 1
    assert "worker A ended with status 7: no such module" in told.end["problems"][0]
    assert any("has not ended: it is queued" in problem for problem in told.end["problems"])


@pytest.mark.slow
def test_a_second_worker_that_dies_fails_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dying(name: str, place: stage.Stage, tasks: Any, on_end: Any, **_: Any) -> Any:
        return workers.worker(name, place, tasks, on_end, die_after_refund=True)

    monkeypatch.setattr(story, "worker", dying)

    told = spoiled(tmp_path, capsys)

    assert told.code == 1
    assert any("worker B ended with status -9" in one for one in told.end["problems"])
