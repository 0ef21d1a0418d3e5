"""Times that people give, and times that are stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from remit.values.errors import ConfigError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9000, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def microseconds(when: object, what: str) -> int:
    """An aware time from 1970 to the year 9000, in microseconds since 1970. Raises ConfigError
    for anything else; `what` is the name of what was given."""
    if not isinstance(when, datetime) or when.utcoffset() is None:
        raise ConfigError(
            f"{what} must be a datetime with a time zone, like datetime.now(UTC) + …,"
            f" not {when!r:.80}"
        )
    # The year 10000 is a time zone away from the year 9999, and has no datetime.
    if not _EPOCH <= when < _LAST:
        raise ConfigError(f"{what} must be a time from 1970 to the year 9000, not {when}")
    return (when - _EPOCH) // _MICRO


def moment(stored: int) -> datetime:
    """What is stored as microseconds since 1970, brought to what `microseconds` takes."""
    last = (_LAST - _EPOCH) // _MICRO
    return _EPOCH + min(max(stored, 0), last) * _MICRO
