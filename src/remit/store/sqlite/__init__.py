"""The store in one SQLite file."""

from remit.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
