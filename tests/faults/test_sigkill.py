"""Real processes, killed with SIGKILL at every write."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from remit.kernel.facts import Stepped, decode
from remit.store.connect import connect
from remit.store.records import Query
from remit.values.clock import SystemClock

ROOT = Path(__file__).parents[2]


def live(folder: Path, at: int, when: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults.worker"]
    return subprocess.run(
        [*command, f"sqlite:///{folder}/runs.db", f"{folder}/world.db", str(at), when],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


def entered_keys(folder: Path) -> list[str]:
    """The key of each call whose body was entered, in order."""
    db = sqlite3.connect(folder / "world.db")
    tables = db.execute("SELECT name FROM sqlite_master WHERE name = 'entered'").fetchall()
    keys = db.execute("SELECT key FROM entered ORDER BY rowid").fetchall() if tables else []
    db.close()
    return [key for (key,) in keys]


async def recorded_calls(folder: Path) -> set[str]:
    """`turn/call` of each call whose result is recorded."""
    store = connect(f"sqlite:///{folder}/runs.db", SystemClock())
    await store.open()
    rows = await store.find(Query())
    facts = [decode(entry.body) for row in rows for entry in await store.read(row.id)]
    await store.close()
    names = [fact.name for fact in facts if isinstance(fact, Stepped) and "call" in fact.name]
    return {"/".join(re.findall(r"\d+", name)) for name in names}


def writes_of_a_whole_life(folder: Path) -> int:
    folder.mkdir()
    done = live(folder, 0, "before")
    assert done.stdout.startswith("succeeded answer"), done.stderr
    return int(done.stdout.split()[2])


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_killed_at_any_write_leaves_a_run_that_finishes(
    tmp_path: Path, when: str
) -> None:
    writes = writes_of_a_whole_life(tmp_path / "whole")
    assert writes >= 12
    for number in range(1, writes + 1):
        folder = tmp_path / f"killed-{number}"
        folder.mkdir()
        killed = live(folder, number, when)
        assert killed.returncode == -signal.SIGKILL, (number, killed.stdout, killed.stderr)
        done_before, entered_before = await recorded_calls(folder), entered_keys(folder)
        done = live(folder, 0, when)
        assert done.stdout.startswith("succeeded answer"), (number, done.stdout, done.stderr)
        db = sqlite3.connect(folder / "world.db")
        ((effects,),) = db.execute("SELECT count(*) FROM effects").fetchall()
        db.close()
        assert effects == 1
        entered = entered_keys(folder)
        assert len(set(entered)) == 3
        again = {key.split("/", 1)[1] for key in entered[len(entered_before) :]}
        assert not done_before & again, number
