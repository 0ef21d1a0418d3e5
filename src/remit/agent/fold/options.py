"""The options of folds, and the thresholds that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from remit.values.errors import ConfigError

CEILING = 160_000
_LEAST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """How a long history is made shorter.

    `max_tokens` is the most that a model call should read and write: 160,000 unless told, and
    never more than the window on the model's card. An eighth of it is kept for the answer; once a
    call reads 80 % of the rest, a fold comes before the next one. The newest `keep_turns` turns are
    left as they are. `brief_tokens` is the most that a brief may have. A run folds at most
    `times` times. Raises ConfigError for what cannot work.
    """

    max_tokens: int | None = None
    keep_turns: int = 2
    brief_tokens: int = 2_048
    times: int = 2

    def __post_init__(self) -> None:
        least = {"max_tokens": _LEAST, "keep_turns": 1, "brief_tokens": 1, "times": 0}
        for name, most in least.items():
            value = getattr(self, name)
            if name == "max_tokens" and value is None:
                continue
            if type(value) is not int or value < most:
                raise ConfigError(f"Fold.{name} must be at least {most}, not {value!r}")

    def room(self, window: int | None) -> int:
        """What a call of a model with this window may read."""
        most = self.max_tokens or CEILING
        ceiling = most if window is None else min(most, window)
        return ceiling - ceiling // 8

    def end(self, window: int | None) -> int | None:
        """What a call cannot read any more: the window, or `max_tokens` where that is not known,
        less an eighth for the answer. None where nobody has said either."""
        most = window or self.max_tokens
        return None if most is None else most - most // 8

    def starts(self, window: int | None) -> int:
        """What a call reads that is folded before the next."""
        return self.room(window) * 4 // 5
