"""What was decided about a run on its way, each a step's value: a fact like any other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

from remit.kernel.facts import Dated

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


def given(value: T) -> Callable[[], Awaitable[T]]:
    """What makes a step of a value that is there already."""

    async def give() -> T:
        return value

    return give
