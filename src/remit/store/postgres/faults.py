"""What PostgreSQL's failures mean: which ones pass, and what to do about the others."""

from __future__ import annotations

import psycopg

from remit.values.errors import StoreError

PATIENCE = 30.0
"""How many seconds a call waits for a server that is away, or for a lock."""

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0

_PASSING = frozenset({"40001", "40P01", "55P03", "57014"})
_MEANINGS = {
    "22021": "cannot keep this text: take the NUL, or what is no Unicode, out of it",
    "25006": "is read only: give the address of the primary server",
    "42501": "refuses this user: grant it the schema and its tables",
    "42P01": "has lost a table: restore a backup, or drop the schema and restart",
    "53100": "has no room on its disk: free some space, then try again",
    "53200": "has no memory left: look at the server",
    "53300": "has no connection left: raise max_connections, or end some",
    "54000": "cannot keep a key of this length: use a shorter thread or key",
    "55P03": "stayed locked: look in pg_stat_activity for who keeps the lock",
    "57014": "took too long: look at the load of the server",
}
# What keeps a client out has no code: libpq gives words alone.
_LOGIN = {
    "password authentication failed": "refuses the password: check user and password",
    "no password supplied": "asks for a password: put one into the address, or in PGPASSWORD",
    "pg_hba.conf": "does not let this user in from here: add a line to pg_hba.conf",
    "authentication failed": "does not let this user in: check user and pg_hba.conf",
    "permission denied": "refuses this user: grant it CONNECT on the database",
    'role "': "has no such user: check the user, or create it",
    'database "': "does not exist: check the name, or create it with createdb",
    "invalid response to SSL": "is no PostgreSQL server: check host and port",
    "expected authentication request": "is no PostgreSQL server: check host and port",
    "does not support SSL": "speaks no SSL: check sslmode in the address",
    "certificate": "shows no certificate that holds: check sslmode and sslrootcert",
}
_PASSING_LOGINS = (
    "starting up",
    "shutting down",
    "in recovery mode",
    "too many clients",
    "too many connections",
    "remaining connection slots",
)
_ABSENT = "cannot be reached: check host and port, and that the server runs"


class BrokenError(Exception):
    """The connection is gone; what was under way on it may have happened or not."""


def passes(error: Exception) -> bool:
    """Whether nothing was written and the same may go well a moment later."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _PASSING


def takes_nobody_in(error: Exception) -> bool:
    """Whether the server is there, and lets nobody in just now."""
    return any(words in str(error) for words in _PASSING_LOGINS)


def keeps_out(error: Exception) -> bool:
    """Whether there is a server that lets this user, with this password, not in."""
    text = str(error)
    return not takes_nobody_in(error) and (
        "FATAL" in text or any(words in text for words in _LOGIN)
    )


def may_come_back(error: Exception) -> bool:
    """Whether a server that could not be reached may be there a moment later."""
    return takes_nobody_in(error) or not any(words in str(error) for words in _LOGIN)


def explained(error: Exception, place: str) -> Exception:
    """`error` as a StoreError with a reason and the mend, if it is one of PostgreSQL's."""
    if isinstance(error, BrokenError):
        told = StoreError(
            reason=f"the connection to the database {place} broke ({error}); what was under way"
            " may be stored or not: read before you try again."
        )
    elif isinstance(error, psycopg.Error | TimeoutError):
        told = StoreError(
            reason=f"the database {place} {_meaning(error)} (PostgreSQL: {_words(error)})."
        )
    else:
        return error
    told.__cause__ = error
    return told


def _meaning(error: Exception) -> str:
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state is not None:
        return _MEANINGS.get(state, "cannot do this: look at PostgreSQL's own words")
    if takes_nobody_in(error):
        return "takes no connections just now: try again later"
    text = str(error)
    for words, meaning in _LOGIN.items():
        if words in text:
            return meaning
    return "lets nobody in: look at PostgreSQL's own words" if "FATAL" in text else _ABSENT


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
