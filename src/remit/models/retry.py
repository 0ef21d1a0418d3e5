"""How often a model that failed is asked again, and after how long."""

from __future__ import annotations

import math
from dataclasses import dataclass

from remit.values.errors import ConfigError

_MOST_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A model call that failed before its first token is made `attempts` times in all, where that
    may help.

    Between them `first` seconds pass, then twice as many, and so on, at most `most`; up to the
    share `jitter` of each wait is taken off, so that runs do not come back all at once. Where the
    provider asks for a longer wait it gets that; for one longer than `most` nobody waits, and the
    attempts are over. Raises ConfigError for numbers that make no sense.
    """

    attempts: int = 4
    first: float = 1.0
    most: float = 60.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or not 1 <= self.attempts <= _MOST_ATTEMPTS:
            raise ConfigError(
                f"Retry.attempts must be a whole number from 1, which asks once and never again,"
                f" to {_MOST_ATTEMPTS}, not {self.attempts!r:.80}"
            )
        for name in ("first", "most"):
            if not _is_number(getattr(self, name)):
                raise ConfigError(
                    f"Retry.{name} must be a number of seconds of at least 0, not"
                    f" {getattr(self, name)!r:.80}"
                )
        if self.first > self.most:
            raise ConfigError(
                f"Retry.first is {self.first:g} s and Retry.most {self.most:g} s: give a most= that"
                " is not below first="
            )
        if not _is_number(self.jitter) or self.jitter > 1:
            raise ConfigError(f"Retry.jitter must be a share from 0 to 1, not {self.jitter!r:.80}")

    def wait(self, failed: int, after: float | None, luck: float) -> float | None:
        """How many seconds pass before a call that failed `failed` times in a row is made again;
        None where it is not. `after` is what the provider asks for, `luck` from 0 to 1."""
        if failed >= self.attempts or (after is not None and after > self.most):
            return None
        spread = self.jitter * luck
        own = min(self.first * 2.0 ** (failed - 1), self.most) * (1 - spread)
        return own if after is None else max(own, after + self.first * spread)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0
