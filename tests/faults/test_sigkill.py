"""Real processes, killed with SIGKILL at every write."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

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


def writes_of_a_whole_life(folder: Path) -> int:
    folder.mkdir()
    done = live(folder, 0, "before")
    assert done.stdout.startswith("succeeded answer"), done.stderr
    return int(done.stdout.split()[2])


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_killed_at_any_write_leaves_a_run_that_finishes(
    tmp_path: Path, when: str
) -> None:
    writes = writes_of_a_whole_life(tmp_path / "whole")
    assert writes >= 12
    for number in range(1, writes + 1):
        folder = tmp_path / f"killed-{number}"
        folder.mkdir()
        killed = live(folder, number, when)
        assert killed.returncode == -signal.SIGKILL, (number, killed.stdout, killed.stderr)
        done = live(folder, 0, when)
        assert done.stdout.startswith("succeeded answer"), (number, done.stdout, done.stderr)
        db = sqlite3.connect(folder / "world.db")
        ((effects,),) = db.execute("SELECT count(*) FROM effects").fetchall()
        entered = db.execute("SELECT key, count(*) FROM entered GROUP BY key").fetchall()
        db.close()
        assert effects == 1
        assert len(entered) == 3
        assert sum(times for _, times in entered) <= 5
