"""What was decided about a run on its way, each a step's value: a fact like any other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from remit.kernel.facts import Dated
from remit.values.messages import ToolMessage
from remit.values.results import Finish

T = TypeVar("T")
Brake = Literal["repeated_calls", "failing_tool", "repeated_text"]


class Braked(Dated, frozen=True, kw_only=True, omit_defaults=True, tag="braked", tag_field="t"):
    """The run went in circles: the model is told so, or the run `stops`. `tool` is the one that
    failed; `count` is how often in a row it was by then."""

    brake: Brake
    stops: bool = False
    tool: str | None = None
    count: int = 0

    @property
    def format(self) -> int:
        return 2


class Prepared(Dated, frozen=True, kw_only=True, omit_defaults=True, tag="prepared", tag_field="t"):
    """How the turn that follows is asked for; None leaves it as it is. `tools` are all that it
    may call."""

    instructions: str | None = None
    tools: tuple[str, ...] | None = None
    model: str | None = None
    tool_choice: str | None = None

    @property
    def format(self) -> int:
        return 2


class Verdict(Dated, frozen=True, omit_defaults=True, tag="verdict", tag_field="t"):
    """What was said of a call before it ran: it may run, or has this result instead."""

    result: ToolMessage | None = None

    @property
    def format(self) -> int:
        return 2


class Noted(Dated, frozen=True, tag="noted", tag_field="t"):
    """The app has looked at a complete turn."""

    @property
    def format(self) -> int:
        return 2


class Judged(Dated, frozen=True, kw_only=True, omit_defaults=True, tag="judged", tag_field="t"):
    """What was said of an answer: it stands, or goes back to the model with this reason. After
    the `last` one the model is not asked again."""

    reason: str | None = None
    last: bool = False

    @property
    def format(self) -> int:
        return 2


class Closing(Dated, frozen=True, tag="closing", tag_field="t"):
    """The turn that follows is the last, and has no tools: another would meet the bound
    `finish`."""

    finish: Finish

    @property
    def format(self) -> int:
        return 2


@dataclass(slots=True)
class Told:
    """What the app has said so far: the last turn that it has `noted`, the last whose answer it
    has `judged`, how many answers did not stand, and whether that was the last one allowed."""

    noted: int = -1
    judged: int = -1
    sent_back: int = 0
    invalid: bool = False


def given(value: T) -> Callable[[], Awaitable[T]]:
    """What makes a step of a value that is there already."""

    async def give() -> T:
        return value

    return give
