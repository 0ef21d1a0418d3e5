"""What may be wrong with a store's database, by what a look at it gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from remit.cli.doctor.finding import Finding, Level, Measures, Name
from remit.cli.render.wording import span
from remit.store.migrations import Versions
from remit.store.upkeep import Look, PostgresHealth, Shut, SqliteHealth, Why

MIGRATE: Final = "run `remit migrate` with the store's address"
LAST_WITH_WAL_RESET = (3, 51, 2)
# fmt: off
NETWORKED = frozenset((
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.glusterfs", "fuse.s3fs",
    "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "smb3",
    "smbfs",
))
# fmt: on
"""As Linux names the kinds of file systems."""
_NAMES: dict[Why, Name] = {
    "missing": "store-missing",
    "unreachable": "store-unreachable",
    "login": "store-refuses",
    "foreign": "store-foreign",
    "damaged": "damaged",
    "unreadable": "store-unreadable",
}


def database(look: Look, measures: Measures) -> Iterator[Finding]:
    """All that a look at a database tells, but for its runs."""
    if look.shut is not None:
        yield shut(look.shut)
    if look.versions is not None:
        yield from schema(look.versions, look.place)
    match look.health:
        case SqliteHealth():
            yield from sqlite(look.health, look.place, measures)
        case PostgresHealth():
            yield from postgres(look.health, measures)
        case None:
            return
        case _:
            assert_never(look.health)


def shut(why: Shut) -> Finding:
    """The reason is `what: mend`, as those of StoreError are."""
    what, _, mend = why.reason.rstrip(".").partition(": ")
    return Finding("error", _NAMES[why.why], what, mend)


def schema(versions: Versions, place: str) -> Iterator[Finding]:
    """The database's schema against this code's."""
    at, newest = versions.at, versions.newest
    if at == 0:
        yield Finding("error", "store-missing", f"nothing is made yet in {place}", MIGRATE)
    elif at < newest:
        yield Finding(
            "warning",
            "schema-older",
            f"{place} has schema {at}, and this remit needs {newest}",
            f"{MIGRATE}; an App does so when it opens the store",
        )
    elif at > newest:
        yield Finding(
            "error",
            "schema-newer",
            f"{place} has schema {at}, and this remit knows schemas up to {newest}",
            "update remit: a newer one has migrated the store",
        )


def sqlite(health: SqliteHealth, path: str, measures: Measures) -> Iterator[Finding]:
    """A file, its disk and the SQLite that opens it."""
    yield from _sqlite_version(health)
    yield from _access(health, path)
    yield from _disk(health, path, measures)
    if health.faults:
        yield Finding(
            "error",
            "damaged",
            f"{path} is damaged: {'; '.join(health.faults)}",
            "restore it from a backup, or try sqlite3's .recover",
        )
    if health.folder_writable and health.journal_mode not in (None, "wal"):
        yield Finding(
            "warning",
            "not-wal",
            f"{path} is in journal mode {health.journal_mode} and not on a write-ahead log",
            "open it with an App, which turns the log on, and see that nothing turns it off",
        )


def _sqlite_version(health: SqliteHealth) -> Iterator[Finding]:
    version = ".".join(map(str, health.sqlite))
    if health.sqlite < health.oldest:
        oldest = ".".join(map(str, health.oldest))
        yield Finding(
            "error",
            "sqlite-too-old",
            f"SQLite {version} is too old",
            f"use a Python built with SQLite {oldest} or newer",
        )
    elif health.sqlite <= LAST_WITH_WAL_RESET:
        several = (health.others or 0) > 1
        yield Finding(
            "warning" if several else "note",
            "sqlite-wal-reset",
            f"SQLite {version} can, rarely, lose what was written when several processes use a"
            " file" + (f", and {health.others} have this one open" if several else ""),
            "remit's own processes take turns so that it does not come to this; let no other"
            " program write to the file, and use a Python with SQLite 3.51.3 or newer, or"
            " PostgreSQL",
        )


def _access(health: SqliteHealth, path: str) -> Iterator[Finding]:
    if not health.folder_writable:
        yield Finding(
            "error",
            "folder-read-only",
            f"this user may not write in the folder of {path}, where SQLite keeps its log",
            "give this user write access to the folder",
        )
    if not health.file_writable:
        yield Finding(
            "error",
            "file-read-only",
            f"this user may not write to {path}",
            "give this user write access to the file",
        )


def _disk(health: SqliteHealth, path: str, measures: Measures) -> Iterator[Finding]:
    room = health.free_bytes
    if room is not None and room < measures.little_room:
        level: Level = "error" if room < measures.no_room else "warning"
        yield Finding(
            level,
            "disk-full",
            f"the disk of {path} has {room // 1_000_000} MB left",
            "free some space: a full disk stops every run",
        )
    if health.file_system in NETWORKED:
        yield Finding(
            "error",
            "network-file-system",
            f"{path} is on a network file system ({health.file_system}), on which SQLite's locks"
            " do not hold",
            "put it on a local disk, or use PostgreSQL",
        )


def postgres(health: PostgresHealth, measures: Measures) -> Iterator[Finding]:
    """A server, as it takes in this user."""
    if health.server < health.oldest:
        yield Finding(
            "error",
            "postgres-too-old",
            f"the server runs PostgreSQL {health.server // 10000}",
            f"use PostgreSQL {health.oldest // 10000} or newer",
        )
    yield from _durability(health)
    if abs(health.ahead) > measures.skew:
        side = "ahead of" if health.ahead > 0 else "behind"
        yield Finding(
            "warning",
            "clock-skew",
            f"the server's clock is {span(abs(health.ahead))} {side} this machine's",
            "set both by NTP: leases go by the server's clock, the times in journals by each"
            " machine's own",
        )
    if health.missing:
        yield Finding(
            "error",
            "privileges-missing",
            f"this user lacks {', '.join(health.missing)}",
            "let the owner grant it: USAGE on the schema, and SELECT, INSERT, UPDATE, DELETE ON ALL"
            " TABLES IN it",
        )


def _durability(health: PostgresHealth) -> Iterator[Finding]:
    if not health.fsync:
        yield Finding(
            "error",
            "fsync-off",
            "the server runs with fsync = off: a power cut can lose or spoil all that was recorded",
            "set fsync = on in postgresql.conf and reload the server",
        )
    if health.synchronous_commit == "off":
        yield Finding(
            "note",
            "synchronous-commit-off",
            "the database's own setting is synchronous_commit = off; remit turns it on in each of"
            " its sessions",
            "set it to on if other programs write there what must last",
        )
    if health.read_only:
        yield Finding(
            "error",
            "database-read-only",
            "the server is a standby, or its sessions are read only",
            "give the address of the primary, or set default_transaction_read_only = off",
        )
