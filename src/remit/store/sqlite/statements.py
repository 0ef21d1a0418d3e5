"""The named statements of `queries.sql`, and how texts travel in them."""

from __future__ import annotations

from remit.store import sql

SQL = sql.load("remit.store.sqlite", "queries.sql")


def pack(text: str) -> bytes:
    """A text that came from outside, as bytes: it may hold what SQLite's texts cannot."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """The text that `pack` was given."""
    return data.decode("utf-8", "surrogatepass")
