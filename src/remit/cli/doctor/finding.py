"""What a doctor finds, as values, and from when on it takes notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]

Name = Literal[
    "app-broken",
    "cache-rates-missing",
    "clock-skew",
    "damaged",
    "database-read-only",
    "disk-full",
    "dying-runs",
    "file-read-only",
    "folder-read-only",
    "fsync-off",
    "lapsed-worker",
    "long-paused",
    "network-file-system",
    "not-wal",
    "orphan-runs",
    "overdue-runs",
    "package-missing",
    "model-file",
    "postgres-too-old",
    "privileges-missing",
    "python-untested",
    "schema-newer",
    "schema-older",
    "sqlite-too-old",
    "sqlite-wal-reset",
    "store-foreign",
    "store-missing",
    "store-refuses",
    "store-unreachable",
    "store-unreadable",
    "store-unseen",
    "synchronous-commit-off",
    "tool-hidden",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, or worth knowing where the level is `note`: in a word that
    programs read, in a sentence, and with what to do about it."""

    level: Level
    name: Name
    what: str
    mend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """From when on something is a finding. Seconds, and bytes of `room` left on a disk."""

    lapsed: float = 60.0
    overdue: float = 300.0
    paused: float = 7 * 86_400.0
    skew: float = 5.0
    little_room: int = 500_000_000
    no_room: int = 50_000_000
