"""Where servers that speak Chat Completions differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.values.errors import ConfigError

_CAPS = ("max_completion_tokens", "max_tokens")
_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a server wants otherwise than OpenAI does.

    `cap` is the field that holds the most tokens of an answer, `instructions` the role of the
    agent's instructions. `usage=False` is for servers that refuse `stream_options`: usage is
    then estimated unless they report it unasked. `short_ids` sends call ids of 9 letters and
    digits, as Mistral demands.
    """

    cap: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    instructions: Literal["system", "developer"] = "system"
    usage: bool = True
    short_ids: bool = False

    def __post_init__(self) -> None:
        if self.cap not in _CAPS:
            raise ConfigError(f"Dialect.cap must be one of {', '.join(_CAPS)}, not {self.cap!r}")
        if self.instructions not in _ROLES:
            raise ConfigError(
                f"Dialect.instructions must be one of {', '.join(_ROLES)},"
                f" not {self.instructions!r}"
            )
