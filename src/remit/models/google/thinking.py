"""How much a model thinks before it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from remit.values.errors import ConfigError

_LEVELS = ("minimal", "low", "medium", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """How much a Gemini model thinks. Thoughts count as output, also those that are not shown.

    `level` is for models from 3 on, `budget` in tokens for those before: 0 for none, -1 to leave it
    to the model. `shown=True` has the model tell a summary of its thoughts. Raises ConfigError for
    what is no such level or budget, and for both.
    """

    level: Literal["minimal", "low", "medium", "high"] | None = None
    budget: int | None = None
    shown: bool = False

    def __post_init__(self) -> None:
        if self.level is not None and self.level not in _LEVELS:
            raise ConfigError(
                f"Thinking.level must be one of {', '.join(_LEVELS)}, not {self.level!r}"
            )
        if self.budget is not None and (type(self.budget) is not int or self.budget < -1):
            raise ConfigError(
                f"Thinking.budget must be a number of tokens, 0 or -1, not {self.budget!r}"
            )
        if self.level is not None and self.budget is not None:
            raise ConfigError("Thinking takes a level or a budget: a model knows one of them")

    @property
    def asked(self) -> dict[str, Any]:
        """The `thinkingConfig` of a request."""
        config: dict[str, Any] = {"includeThoughts": True} if self.shown else {}
        if self.level is not None:
            config["thinkingLevel"] = self.level.upper()
        if self.budget is not None:
            config["thinkingBudget"] = self.budget
        return config
