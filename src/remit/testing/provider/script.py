"""What a provider on loopback is told to answer, and how badly to send it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from remit.models.request import Stop
from remit.testing.model import Answer, Call, Say
from remit.values.errors import ConfigError, ProviderError
from remit.values.usage import Usage


class Think:
    """Thinking before the rest of an answer, signed by the provider; `pieces` are those in which
    it streams."""

    def __init__(self, text: str, *, pieces: int | Sequence[str] | None = None) -> None:
        said = Say(text, pieces=pieces)
        self.text, self.pieces = said.text, said.pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """How an answer is sent. Raises ConfigError for what cannot be.

    `usage` is reported `after` the answer, `before` it, `twice` or `never`. The `ids` of calls
    are those of the provider, or all the same, or empty, or missing, and calls are `counted` by
    their `index` or all have 0. The connection is `cut` when so many events are sent. `chunk`
    cuts what is sent into pieces of so many bytes, and `pause` seconds go by before each event.
    """

    usage: Literal["after", "before", "twice", "never"] = "after"
    ids: Literal["given", "repeated", "empty", "missing"] = "given"
    index: Literal["counted", "reset"] = "counted"
    cut: int | None = None
    chunk: int | None = None
    pause: float = 0.0

    def __post_init__(self) -> None:
        if self.chunk is not None and self.chunk < 1:
            raise ConfigError(f"Quirks.chunk must be at least 1 byte, not {self.chunk!r}")
        if self.cut is not None and self.cut < 0:
            raise ConfigError(f"Quirks.cut must be a number of events, not {self.cut!r}")


PLAIN = Quirks()
Part = Say | Call | Think


class Reply:
    """A whole answer over the wire. With `fails` the vendor's error comes in its stead in the
    middle of the stream, after the parts."""

    def __init__(
        self,
        *parts: Part,
        usage: Usage | None = None,
        stop: Stop | None = None,
        quirks: Quirks = PLAIN,
        fails: ProviderError | None = None,
    ) -> None:
        answer = Answer(*(p for p in parts if not isinstance(p, Think)), usage=usage, stop=stop)
        self.parts, self.usage, self.stop = parts, answer.usage, answer.stop
        self.quirks = quirks
        self.fails = fails


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> dict[str, Any]:
        """What it holds; bare NaN and infinities are read as floats."""
        found: dict[str, Any] = json.loads(self.text)
        return found


Given = Part | Answer | Reply | Sequence[Part] | BaseException
Item = Given | Callable[[Sent], Given]


def reply(item: Given) -> Reply:
    """What a script's item is sent as."""
    if isinstance(item, Reply):
        return item
    if isinstance(item, Answer):
        return Reply(*item.parts, usage=item.usage, stop=item.stop)
    if isinstance(item, Say | Call | Think):
        return Reply(item)
    if isinstance(item, Sequence):
        return Reply(*item)
    raise TypeError(f"{item!r} is no scripted answer")
