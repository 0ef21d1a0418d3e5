"""Laws of a look at a SQLite file: what is wrong with it and around it is found."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import sqlite3
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from remit.cli.doctor.database import database
from remit.cli.doctor.finding import Finding, Measures
from remit.cli.doctor.work import work
from remit.store.sqlite.health import surroundings
from remit.store.upkeep import Concern, Look, SqliteHealth
from remit.testing.store_contract.arrange import held, queued
from tests.contract.migrators import File
from tests.fixtures_store import opened

CONCERN = Concern(overdue=300, paused=600)
USES = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT 1 FROM runs")
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "a ?#ä.db")


@pytest.fixture
async def made(file: File) -> File:
    """A file that was a store at work, which ended in peace."""
    async with opened(file.store()) as store:
        await queued(store)
    return file


async def look(file: File) -> Look:
    return await file.upkeep().look(CONCERN)


async def found(file: File, measures: Measures | None = None) -> dict[str, Finding]:
    findings = list(database(await look(file), measures or Measures()))
    return {one.name: one for one in findings if one.name != "sqlite-wal-reset"}


def spoil(path: Path) -> None:
    """Overwrite the middle of the file, past what is needed to open it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[2 * 4096 : 4 * 4096] = b"\x55" * (2 * 4096)
    path.write_bytes(content)


async def test_a_damaged_file_is_found(made: File) -> None:
    spoil(made.path)

    findings = await found(made)

    assert [(one.level, one.name) for one in findings.values()] == [("error", "damaged")]
    assert "backup" in findings["damaged"].mend


async def test_a_file_that_is_no_database_is_found(file: File) -> None:
    file.path.write_bytes(b"no database, but a letter" * 50)

    assert list(await found(file)) == ["store-foreign"]


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch], ids=["folder", "empty"])
async def test_what_is_no_store_yet_is_found(file: File, make: Callable[[Path], None]) -> None:
    make(file.path)

    assert list(await found(file)) == ["store-missing"]


async def test_a_folder_that_is_not_there_is_found(tmp_path: Path) -> None:
    file = File(tmp_path / "nowhere" / "runs.db")

    assert list(await found(file)) == ["store-missing"]
    assert not file.path.parent.exists()


async def test_a_file_without_its_log_is_found(made: File) -> None:
    with closing(sqlite3.connect(made.path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")

    findings = await found(made)

    assert list(findings) == ["not-wal"]
    assert "journal mode delete" in findings["not-wal"].what


@contextmanager
def without_rights(*places: Path) -> Iterator[None]:
    """As a user who may look there and not write."""
    modes = {place: place.stat().st_mode for place in places}
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for place, mode in modes.items():
            place.chmod(mode)


@pytest.fixture
async def open_to_all() -> AsyncIterator[File]:
    """A store in a folder that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="remit-open-") as folder:
        os.chmod(folder, 0o755)
        file = File(Path(folder) / "runs.db")
        async with opened(file.store()) as store:
            await queued(store)
        yield file


async def test_a_folder_and_a_file_that_cannot_be_written_are_found(open_to_all: File) -> None:
    path = open_to_all.path
    with without_rights(path.parent, path):
        both = await look(open_to_all)

    names = [one.name for one in database(both, Measures()) if one.name != "sqlite-wal-reset"]
    assert names == ["folder-read-only", "file-read-only"]
    assert both.work is not None
    assert [live.runs for live in both.work.live] == [1]


async def test_a_log_that_cannot_be_read_for_want_of_rights_is_told(open_to_all: File) -> None:
    path = open_to_all.path
    async with opened(open_to_all.store()) as store:
        await held(store)
        shutil.copy(path, kept := path.with_suffix(".kept"))
        shutil.copy(f"{path}-wal", log := path.with_suffix(".log"))
    shutil.move(kept, path)
    shutil.move(log, f"{path}-wal")
    with without_rights(path.parent, path):
        findings = await found(open_to_all)

    assert "folder-read-only" in findings
    assert "store-unreachable" in findings


async def test_a_disk_that_is_nearly_full_is_found(made: File) -> None:
    free = shutil.disk_usage(made.path.parent).free

    little = await found(made, Measures(little_room=free * 2, no_room=free // 2))
    none = await found(made, Measures(little_room=free * 2, no_room=free * 2))

    assert [one.level for one in little.values()] == ["warning"]
    assert [one.level for one in none.values()] == ["error"]
    assert list(little) == list(none) == ["disk-full"]


async def test_processes_that_use_the_file_are_counted(made: File) -> None:
    command = [sys.executable, "-c", USES, str(made.path)]
    using = [
        await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE) for _ in range(2)
    ]
    for one in using:
        assert one.stdout is not None
        await one.stdout.readline()

    (used,) = list(database(await look(made), Measures()))
    for one in using:
        await one.communicate(b"")
    (unused,) = list(database(await look(made), Measures()))

    assert (used.level, used.name) == ("warning", "sqlite-wal-reset")
    assert "2 have this one open" in used.what
    assert (unused.level, unused.name) == ("note", "sqlite-wal-reset")


async def test_this_process_is_none_of_the_others(made: File) -> None:
    async with opened(made.store()):
        health = (await look(made)).health

    assert isinstance(health, SqliteHealth)
    assert not health.others


async def test_a_worker_from_before_the_machine_s_start_is_found(made: File) -> None:
    async with opened(made.store()) as store:
        await held(store, worker="w_old")
    made.execute("UPDATE workers SET boot = 'another'")

    seen = await look(made)

    assert seen.work is not None
    (finding,) = work(seen.work, [], 0, Measures())
    assert (finding.level, finding.name) == ("warning", "lapsed-worker")
    assert "w_old ended before this machine was started" in finding.what
    assert seen.work.alive == 0


MOUNTS = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
31 22 0:27 / /mnt/share rw,relatime shared:9 master:1 - nfs4 server:/x rw
32 22 0:28 / /mnt/two\\040words rw - cifs //server/x rw
33 22 0:29 / /over rw - ext4 /dev/vdb rw
34 33 0:30 / /over rw - fuse.sshfs there:/ rw
a line that says nothing
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/me", "ext4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/sub", "nfs4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/two words/sub", "cifs"),
        ("/over/it", "fuse.sshfs"),
    ],
)
def test_a_folder_s_file_system_is_the_nearest_mount(folder: str, kind: str) -> None:
    assert surroundings.kind_of(folder, MOUNTS) == kind


def test_where_nothing_is_told_no_file_system_is_known() -> None:
    assert surroundings.kind_of("/home", "") is None


async def test_the_tests_own_file_system_is_told(made: File) -> None:
    health = (await look(made)).health

    assert isinstance(health, SqliteHealth)
    assert bool(health.file_system) == (sys.platform == "linux")
