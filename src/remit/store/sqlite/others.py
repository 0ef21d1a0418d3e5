"""Telling other handles' commits from our own."""

from __future__ import annotations

import sqlite3

from remit.store.sqlite.writer import Writer


class Others:
    """Asked now and then whether another handle, in this process or another, has committed.

    The watching connection's data_version also changes with our own writer's commits. While
    those go on, the writer itself sees the others' between two of its own; what may have come
    after its last one is told, once, when it has fallen silent.
    """

    def __init__(self, watching: sqlite3.Connection, writer: Writer) -> None:
        self._watching = watching
        self._writer = writer
        self._version = -1
        self._commits = writer.commits
        self._others = writer.others
        self._unsure = False

    def changed(self) -> bool:
        """Whether there was such a commit since this was last asked."""
        try:
            (version,) = self._watching.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return True
        commits, others = self._writer.commits, self._writer.others
        ours, theirs = commits != self._commits, others != self._others
        moved = version != self._version
        self._version, self._commits, self._others = version, commits, others
        if theirs or ((moved or self._unsure) and not ours):
            self._unsure = False
            return True
        self._unsure = self._unsure or ours
        return False
