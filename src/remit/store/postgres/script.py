"""Calls of one transaction in the making, each with what its rows tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Call, Queries
from remit.store.postgres.wire import Rows

T = TypeVar("T")


class Script:
    """All is sent before the first row comes back: what a call depends on, it asks itself."""

    def __init__(self, sql: Queries) -> None:
        self._sql = sql
        self._calls: list[Call] = []
        self._heard: list[Callable[[Rows], None] | None] = []

    def call(
        self, name: str, heard: Callable[[Rows], None] | None = None, /, **values: Any
    ) -> None:
        """Call the statement `name`; `heard` is given its rows."""
        self._calls.append(self._sql(name, **values))
        self._heard.append(heard)

    def plan(self, outcomes: Callable[[], Sequence[Any]]) -> Plan:
        """The plan that means `outcomes`, once all rows were heard."""

        def meaning(answers: Sequence[Rows]) -> Sequence[Any]:
            for heard, rows in zip(self._heard, answers, strict=True):
                if heard is not None:
                    heard(rows)
            return outcomes()

        return Plan(self._calls, meaning)


def rounds(
    items: Iterable[T], keys: Callable[[T], Iterable[Hashable]]
) -> list[list[tuple[int, T]]]:
    """The items with their numbers, in rounds: no key twice in a round, and in order over them.

    A statement over many items does each row once, and sees nothing that it does itself.
    """
    made: list[list[tuple[int, T]]] = []
    following: defaultdict[Hashable, int] = defaultdict(int)
    for number, item in enumerate(items):
        named = list(keys(item))
        at = max(following[key] for key in named)
        for key in named:
            following[key] = at + 1
        if at == len(made):
            made.append([])
        made[at].append((number, item))
    return made
