"""Real processes, killed with SIGKILL before, inside and after a transaction."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from remit.kernel.facts import Stepped, decode
from remit.store.records import Query
from remit.testing.clock import ManualClock
from tests.fixtures_store import opened
from tests.journeys.books import Books, postgres_books, sqlite_books

ROOT = Path(__file__).parents[2]
Kind = Callable[[Path, ManualClock], AbstractContextManager[Books]]


def live(books: Books, at: int, when: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults.effect_worker", books.kind, books.where]
    return subprocess.run(
        [*command, books.table.partition(".")[0], str(at), when],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


async def recorded(books: Books) -> int:
    """How many calls have their result recorded."""
    async with opened(books.handle()) as store:
        rows = await store.find(Query())
        found = [decode(entry.body) for row in rows for entry in await store.read(row.id)]
    return sum(isinstance(fact, Stepped) and "call" in fact.name for fact in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [sqlite_books, postgres_books], ids=["sqlite", "postgres"])
@pytest.mark.parametrize("when", ["before", "inside", "after"])
@pytest.mark.parametrize("at", [1, 2])
async def test_a_process_killed_at_a_transaction_has_paid_as_often_as_it_recorded(
    tmp_path: Path, clock: ManualClock, kind: Kind, when: str, at: int
) -> None:
    with kind(tmp_path, clock) as books:
        async with opened(books.handle()):
            books.begin()
        killed = live(books, at, when)
        assert killed.returncode == -signal.SIGKILL, (killed.stdout, killed.stderr)
        assert len(books.keys) == await recorded(books) == at - (when != "after")
        done = live(books, 0, when)
        assert done.stdout.startswith("succeeded "), (done.stdout, done.stderr)
        assert books.keys == done.stdout.split()[1:]
