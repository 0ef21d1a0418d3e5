"""The named statements of the `.sql` files, and how texts travel in them."""

from __future__ import annotations

from remit.store import sql

SQL = {
    name: statement
    for file in ("queries.sql", "money.sql", "retention.sql")
    for name, statement in sql.load("remit.store.sqlite", file).items()
}


def pack(text: str) -> bytes:
    """A text that came from outside, as bytes: it may hold what SQLite's texts cannot."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """The text that `pack` was given."""
    return data.decode("utf-8", "surrogatepass")
