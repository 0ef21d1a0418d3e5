"""What `remit spend` is asked, as people type it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeGuard, get_args

from remit.app.spending import Group, SpendOptions
from remit.values.errors import ConfigError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which sums are asked for, not checked yet."""

    by: tuple[str, ...] = ()
    user: str | None = None
    tenant: str | None = None
    run: str | None = None
    agent: str | None = None
    since: str | None = None
    until: str | None = None
    days: int | None = None

    def groups(self) -> tuple[Group, ...]:
        """What to add up by, each once: by day unless told. Raises ConfigError."""
        found: list[Group] = []
        for name in dict.fromkeys(self.by):
            if not _is_group(name):
                raise ConfigError(f"--by takes any of {', '.join(get_args(Group))}, not {name!r}")
            found.append(name)
        return tuple(found) or ("day",)

    def options(self, now: float) -> SpendOptions:
        """What `App.spend` is asked at the time `now`, in seconds since 1970. Raises
        ConfigError."""
        since, until = self._span(now)
        return SpendOptions(
            user=self.user,
            tenant=self.tenant,
            run=self.run,
            agent=self.agent,
            since=since,
            until=until,
        )

    def _span(self, now: float) -> tuple[datetime | None, datetime | None]:
        since = None if self.since is None else when(self.since, "--since")
        until = None if self.until is None else when(self.until, "--until")
        if self.days is not None:
            if since or until:
                raise ConfigError("give --days, or --since and --until, and not both")
            return last_days(self.days, now), None
        if since and until and since >= until:
            raise ConfigError(
                f"--since {self.since} is not before --until {self.until}: give an earlier --since,"
                " or a later --until"
            )
        return since, until


def when(text: str, option: str) -> datetime:
    """A day's midnight UTC, or the time that `text` is with its zone. Raises ConfigError."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        found = _time(text)
    if found is None or found.utcoffset() is None:
        raise ConfigError(
            f"{option} takes a day, like 2026-11-30, or a time with its zone, like"
            f" 2026-11-30T12:00Z, not {text!r:.80}"
        )
    return found


def last_days(days: int, now: float) -> datetime:
    """The midnight UTC that the last `days` begin with, of which the day of `now` is one."""
    today = int(now // _DAY)
    return _EPOCH + timedelta(days=max(today - (days - 1), 0))


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _is_group(name: str) -> TypeGuard[Group]:
    return name in get_args(Group)
