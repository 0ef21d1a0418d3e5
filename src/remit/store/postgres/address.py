"""Where the database is, and how each connection to it is set up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from remit.values.errors import ConfigError

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
_FORM = "postgresql://user:password@host:5432/database"
_PORTS = re.compile(r"\d{1,5}(,\d{1,5})*")

# A peer that is gone is noticed within half a minute, whether anything is under way or not.
_USUAL = {
    "application_name": "remit",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}

# A process that stops in the middle of a transaction must not keep its locks, nor its snapshot.
# Plans are made once: with seldom more than one row a run there is nothing better to find, and a
# plan from when the tables were empty must not read them whole for ever.
_SETTINGS = {
    "default_transaction_isolation": "read committed",
    "statement_timeout": "15s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "jit": "off",
}
_SINCE_17 = {"transaction_timeout": "20s"}

SETTINGS = """
SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS wanted(name, value)
UNION ALL
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
"""
"""Sets up a session; what is committed must be durable, whatever the database's default."""


@dataclass(frozen=True, slots=True)
class Address:
    """A database and the schema in it. `place` names both in messages, without user or password."""

    conninfo: str = field(repr=False)
    schema: str
    place: str

    @classmethod
    def parse(cls, dsn: str, schema: str) -> Self:
        """Raises ConfigError, without a word of `dsn`, where that cannot be read."""
        if not _SCHEMA.fullmatch(schema):
            raise ConfigError(
                f"{schema!r} cannot name a schema here: use up to 48 of a-z, 0-9 and _"
            )
        given = _read(dsn)
        if given is None or not _PORTS.fullmatch(str(given.get("port") or "5432")):
            raise ConfigError(
                f"this PostgreSQL address cannot be read: write {_FORM}, with %XX for special"
                " characters in user and password"
            )
        usual = {name: value for name, value in _USUAL.items() if name not in given}
        return cls(make_conninfo(dsn, **usual), schema, _place(given, schema))

    def settings(self, server_version: int) -> tuple[list[str], list[str]]:
        """The session's settings, as names and values."""
        settings = {**_SETTINGS, "search_path": self.schema}
        if server_version >= 170000:
            settings |= _SINCE_17
        return list(settings), list(settings.values())


def _read(dsn: str) -> Mapping[str, object] | None:
    # Not in the except clause: what libpq says holds words of the address, the password's too.
    try:
        return conninfo_to_dict(dsn)
    except psycopg.Error:
        return None


def _place(given: Mapping[str, object], schema: str) -> str:
    """Who looks for the mistake sees where the store looked for its database."""
    host = given.get("host") or given.get("hostaddr") or "(default host)"
    port = f":{given['port']}" if given.get("port") else ""
    name = given.get("dbname") or "(default database)"
    return f"postgresql://{host}{port}/{name}, schema {schema},"
