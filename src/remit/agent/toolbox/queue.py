"""The order in which the calls of one turn begin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def groups(calls: Iterable[tuple[T, bool]]) -> list[list[T]]:
    """`calls` in their order, parted into those that run side by side. One that is marked stands
    alone: it begins when those before it have ended, and those after it wait for it."""
    found: list[list[T]] = []
    joins = False
    for call, alone in calls:
        if joins and not alone:
            found[-1].append(call)
        else:
            found.append([call])
        joins = not alone
    return found
