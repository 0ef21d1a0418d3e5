"""Looking after a store's database without opening the store: its schema and its health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from remit.store.migrations import Versions

Why = Literal["missing", "unreachable", "login", "foreign", "damaged", "unreadable"]


@dataclass(frozen=True, slots=True)
class Shut:
    """Why the database could not be looked into: in a word, and with the mend."""

    why: Why
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteHealth:
    """What is known of a SQLite file. None is what the system does not tell."""

    sqlite: tuple[int, int, int]
    oldest: tuple[int, int, int]
    """The oldest SQLite that will do."""
    journal_mode: str | None = None
    folder_writable: bool = True
    file_writable: bool = True
    free_bytes: int | None = None
    file_system: str | None = None
    others: int | None = None
    """How many processes beside this one have the file open, of those that can be seen."""
    faults: Sequence[str] = ()
    """What SQLite's own check found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresHealth:
    """What is known of a PostgreSQL server, as it is without the settings of the store's own
    sessions."""

    server: int
    oldest: int
    """Its version and the oldest that will do, in the server's own numbers, like 180001."""
    fsync: bool = True
    synchronous_commit: str = "on"
    read_only: bool = False
    ahead: float = 0.0
    """Seconds that its clock is ahead of this machine's, as far as that is certain."""
    missing: Sequence[str] = ()
    """Privileges that this user needs and has not, like `INSERT on runs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapsed:
    """A worker whose lease ended `ago` seconds ago, if that is known, and that holds `runs`."""

    worker: str
    ago: float | None
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dying:
    """A live run whose process died `deaths` times with nothing recorded in between."""

    run: str
    program: str
    deaths: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """Due `runs` of a program that nobody drives, of which the first waits for `ago` seconds."""

    program: str
    runs: int
    ago: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """How many `runs` of a program have not ended."""

    program: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A paused run, and the body of its newest entry."""

    run: str
    program: str
    created: datetime
    newest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How the runs stand: `alive` workers, and what may be wrong."""

    alive: int
    lapsed: Sequence[Lapsed] = ()
    dying: Sequence[Dying] = ()
    overdue: Sequence[Overdue] = ()
    live: Sequence[Live] = ()
    waiting: Sequence[Waiting] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All that a look at the database of a store gave. `work` is None where the runs' tables
    could not be read: there are none, or a newer remit has made them."""

    place: str
    shut: Shut | None = None
    versions: Versions | None = None
    health: SqliteHealth | PostgresHealth | None = None
    work: Work | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """From when on a look takes notice, in seconds: of a run that is due, and of a paused one
    that was made."""

    overdue: float
    paused: float


class Upkeep(Protocol):
    """Looks after one database. Only `migrate` writes anything."""

    async def versions(self) -> Versions:
        """Where the schema is. Raises StoreError where it is another's or a newer remit's, and
        where it cannot be reached."""
        ...

    async def migrate(self) -> Versions:
        """Bring the schema up to date, and make it where it is missing; where it was before.
        Raises StoreError as `versions`, and changes nothing then."""
        ...

    async def look(self, concern: Concern) -> Look:
        """How the database is. What keeps it shut is part of the answer, and not raised."""
        ...


@runtime_checkable
class Kept(Protocol):
    """A store whose database can be looked after."""

    def upkeep(self) -> Upkeep:
        """What looks after it."""
        ...
