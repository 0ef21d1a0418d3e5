"""Real processes, killed with SIGKILL at every write."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from remit.kernel.facts import Stepped, decode
from remit.store.connect import connect
from remit.store.records import Query
from remit.values.clock import SystemClock
from tests.faults.conftest import Addresses

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Story:
    """A store, and the world beside it in which effects are counted."""

    store: str
    world: Path

    def live(self, at: int, when: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.faults.worker"]
        return subprocess.run(
            [*command, self.store, str(self.world), str(at), when],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )

    def rows(self, table: str) -> list[str]:
        """The table's keys, in order; none where nothing has made it yet."""
        with closing(sqlite3.connect(self.world)) as db:
            known = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall()
            keys = db.execute(f"SELECT key FROM {table} ORDER BY rowid").fetchall() if known else []
        return [key for (key,) in keys]

    async def recorded_calls(self) -> set[str]:
        """`turn/call` of each call whose result is recorded."""
        store = connect(self.store, SystemClock())
        await store.open()
        rows = await store.find(Query())
        facts = [decode(entry.body) for row in rows for entry in await store.read(row.id)]
        await store.close()
        names = [fact.name for fact in facts if isinstance(fact, Stepped) and "call" in fact.name]
        return {"/".join(re.findall(r"\d+", name)) for name in names}


def writes_of_a_whole_life(story: Story) -> int:
    done = story.live(0, "before")
    assert done.stdout.startswith("succeeded answer"), done.stderr
    return int(done.stdout.split()[2])


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_killed_at_any_write_leaves_a_run_that_finishes(
    addresses: Addresses, tmp_path: Path, when: str
) -> None:
    writes = writes_of_a_whole_life(Story(addresses(), tmp_path / "whole.db"))
    assert writes >= 12
    for number in range(1, writes + 1):
        story = Story(addresses(), tmp_path / f"killed-{number}.db")
        killed = story.live(number, when)
        assert killed.returncode == -signal.SIGKILL, (number, killed.stdout, killed.stderr)
        done_before, entered_before = await story.recorded_calls(), story.rows("entered")
        done = story.live(0, when)
        assert done.stdout.startswith("succeeded answer"), (number, done.stdout, done.stderr)
        assert len(story.rows("effects")) == 1
        entered = story.rows("entered")
        assert len(set(entered)) == 3
        again = {key.split("/", 1)[1] for key in entered[len(entered_before) :]}
        assert not done_before & again, number
