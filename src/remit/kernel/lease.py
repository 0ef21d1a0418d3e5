"""A worker's time-limited hold on its runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from remit.values.clock import Clock
from remit.values.errors import ConfigError, LetGo


class LeaseLost(LetGo):
    """The lease ended: this process writes and starts nothing more for the run."""


class Leaving(LetGo):
    """The process is leaving: it starts nothing more for the run, which goes on elsewhere."""


class RecordEnds(Leaving):
    """A replay has come to the end of what is recorded, where the step `name` would be made."""

    def __init__(self, name: str = "a step that is not recorded") -> None:
        super().__init__()
        self.name = name


class Cancelled(LetGo):
    """Somebody cancelled the run: nothing more is started for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """How long a worker holds runs, and what happens when it is gone.

    A lease lasts `lasts` and is renewed every `renew_every`; every `sweep_every` each process
    looks for leases that ended. A call that a dead process was running is made again `grace`
    after that process's lease ended (a synchronous one: its timeout after). A run whose process
    died `max_deaths` times with nothing recorded in between fails.
    """

    lasts: timedelta = timedelta(seconds=20)
    renew_every: timedelta = timedelta(seconds=5)
    sweep_every: timedelta = timedelta(seconds=5)
    grace: timedelta = timedelta(seconds=5)
    max_deaths: int = 3

    def __post_init__(self) -> None:
        for name in ("lasts", "renew_every", "sweep_every", "grace"):
            value = getattr(self, name)
            if not isinstance(value, timedelta):
                raise ConfigError(f"LeaseTerms.{name} must be a timedelta, not {value!r}")
        for name in ("lasts", "renew_every", "sweep_every"):
            if getattr(self, name) <= timedelta(0):
                raise ConfigError(f"LeaseTerms.{name} must be more than nothing")
        if self.grace < timedelta(0):
            raise ConfigError("LeaseTerms.grace must not be negative")
        if self.renew_every * 2 > self.lasts:
            raise ConfigError("LeaseTerms.renew_every must be at most half of lasts")
        if type(self.max_deaths) is not int or self.max_deaths < 1:
            raise ConfigError("LeaseTerms.max_deaths must be at least 1")


class Lease:
    """A hold with a deadline of its own on this process's clock. Once lost it stays lost."""

    def __init__(self, clock: Clock, deadline: float = math.inf) -> None:
        self._clock = clock
        self._lost = False
        self._deadline = deadline

    @property
    def deadline(self) -> float:
        """When it ends, in seconds of the clock's steady time."""
        return -math.inf if self._lost else self._deadline

    def renew(self, deadline: float) -> None:
        """Move the deadline; one that is lost stays so, whatever thread renews it meanwhile."""
        self._deadline = deadline

    def lose(self) -> None:
        """End it at once, and for good."""
        self._lost = True

    def check(self) -> None:
        """Raise LeaseLost once the deadline has passed."""
        if self._lost or self._clock.steady() >= self._deadline:
            raise LeaseLost
