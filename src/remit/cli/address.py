"""Addresses of stores, as people type them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from remit.store.connect import connect
from remit.store.protocol import Store
from remit.values.clock import Clock
from remit.values.errors import ConfigError

DEFAULT = "sqlite:///remit.db"
VARIABLE = "REMIT_STORE"


def existing(address: str, clock: Clock) -> Store:
    """The store at `address`, not yet opened. Raises ConfigError where there is none: looking at
    runs never makes a database."""
    store = connect(address, clock)
    scheme, _, rest = address.partition(":")
    if scheme.lower() == "memory":
        raise ConfigError(
            "a store in memory ends with its process, so there is nothing to look at:"
            " give --store sqlite:///file.db"
        )
    if scheme.lower() == "sqlite":
        _check_file(os.path.abspath(os.fsdecode(unquote_to_bytes(rest.removeprefix("///")))))
    return store


def of_file(path: Path) -> str:
    """The address of the SQLite store in the file at `path`."""
    return f"sqlite:///{quote(os.fsencode(path.absolute()))}"


def told(address: str | None) -> str:
    """The address that was given, or else that of the surroundings. Raises ConfigError for none."""
    found = address or os.environ.get(VARIABLE)
    if not found:
        raise ConfigError(f"give the store's address, like sqlite:///desk.db, or set {VARIABLE}")
    return found


def is_default(address: str) -> bool:
    """Whether a command finds `address` without being told."""
    return address == (os.environ.get(VARIABLE) or DEFAULT)


def _check_file(path: str) -> None:
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise ConfigError(
            f"there is no database {path}, and no folder {folder}: check the address, or make the"
            " folder for an App to make the database in"
        )
    if not os.path.exists(path):
        raise ConfigError(
            f"there is no database {path}: give the store's address with --store or {VARIABLE};"
            " an App makes it when it first opens"
        )
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise ConfigError(
            f"the file {path} is empty and no store yet: an App makes one of it when it opens it"
        )
