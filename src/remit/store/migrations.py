"""Numbered scripts that bring a database's schema up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Script:
    """Brings a schema of the number before to `number`."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The number that a schema is `at`, 0 where nothing is made yet, and the `newest` there is."""

    at: int
    newest: int

    @property
    def due(self) -> bool:
        """Whether a migration is to be made."""
        return self.at < self.newest


def scripts(package: str) -> Sequence[Script]:
    """The scripts in `package`, `0001.sql` and so on, in order."""
    files = resources.files(package).iterdir()
    numbered = [file for file in files if file.name[:4].isdigit() and file.name.endswith(".sql")]
    found = [Script(int(file.name[:4]), file.read_text("utf-8")) for file in numbered]
    return sorted(found, key=lambda script: script.number)
