"""From an address to a store, and from a store to what looks after it."""

from __future__ import annotations

from remit.store.coded import CodedStore
from remit.store.payload import Payload
from remit.store.protocol import Store
from remit.store.upkeep import Kept, Upkeep
from remit.values.clock import Clock
from remit.values.errors import ConfigError, DriverMissingError

_ADDRESSES = (
    "use memory: (gone with the process), sqlite:///relative.db, sqlite:////absolute.db or"
    " postgresql://user:password@host:5432/database"
)


def connect(address: str, clock: Clock) -> Store:
    """The store at `address`, not yet opened; what a path escapes with % is decoded.

    Raises ConfigError, which lists the addresses there are, for any other, and
    DriverMissingError where the store's driver is not installed.
    """
    scheme, colon, rest = address.partition(":")
    scheme = scheme.lower()
    if not colon:
        raise ConfigError(f"{address!r} is no store's address: {_ADDRESSES}")
    if scheme == "memory":
        return _memory(rest, clock)
    if scheme == "sqlite":
        return _sqlite(rest, clock)
    if scheme in ("postgresql", "postgres"):
        return _postgres(f"{scheme}:{rest}", clock)
    raise ConfigError(f"{scheme!r} is no kind of store that remit knows: {_ADDRESSES}")


def upkeep(store: Store) -> Upkeep | None:
    """What looks after the database of `store`, which need not be open; None where there is no
    database, and where the store is of a kind that brings no upkeep."""
    if isinstance(store, CodedStore):
        return upkeep(store.inner)
    return store.upkeep() if isinstance(store, Kept) else None


def in_memory(store: Store) -> bool:
    """Whether what `store` holds ends with its process."""
    from remit.store.memory import MemoryStore

    inner = store.inner if isinstance(store, CodedStore) else store
    return isinstance(inner, MemoryStore)


def _memory(rest: str, clock: Clock) -> Store:
    if rest:
        raise ConfigError(f"a store in memory has no path: {_ADDRESSES}")
    from remit.store.memory import MemoryStore

    return MemoryStore(clock)


def _sqlite(rest: str, clock: Clock) -> Store:
    if not rest.startswith("///") or rest == "///":
        raise ConfigError(
            f"a SQLite store's address needs a path after three slashes: {_ADDRESSES}"
        )
    if "?" in rest or "#" in rest:
        raise ConfigError(
            "a SQLite store's address takes no options: write ? as %3F and # as %23 in a path"
        )
    import os
    from urllib.parse import unquote_to_bytes

    from remit.store.sqlite import SqliteStore

    path = unquote_to_bytes(rest.removeprefix("///"))
    if b"\0" in path:
        raise ConfigError("a SQLite store's path cannot hold %00: take it out")
    return SqliteStore(os.fsdecode(path), clock)


def _postgres(address: str, clock: Clock) -> Store:
    try:
        from remit.store.postgres import PostgresStore
    except ImportError as error:
        # A driver that is there and finds no libpq names no module.
        if (error.name or "psycopg").partition(".")[0] != "psycopg":
            raise
        raise DriverMissingError(
            "a PostgreSQL store needs its driver: pip install '.[postgres]' in a clone of remit"
        ) from None
    return PostgresStore(address, clock)


def stored(store: str | Store, payload: Payload | None, clock: Clock) -> Store:
    """The store, or that at the address, whose bodies go through `payload`. Raises ConfigError."""
    found = connect(store, clock) if isinstance(store, str) else store
    if payload is None:
        return found
    if isinstance(payload, type):
        raise ConfigError(
            f"payload must be a codec, and {payload.__name__} is the class of one: give an object"
            f" of it, like {payload.__name__}(…)"
        )
    if not all(callable(getattr(payload, name, None)) for name in ("encode", "decode")):
        raise ConfigError(f"payload must be a codec, like Compressed(), and not {payload!r:.80}")
    return CodedStore(found, payload)
