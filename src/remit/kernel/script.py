"""What is recorded of a run, laid out by scopes, so that code can find its place in it again.

A name is a path: `gather:0/1/pay#2` is the second step `pay` in the scope of the second branch of
the first gather. A scope belongs to one task, so that the order of its records is the order in
which they were made, whatever other scopes did meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from remit.kernel.facts import AnyFact, Ask, Paused, Stepped


@dataclass(frozen=True, slots=True)
class Item:
    """One record of a scope under its whole name; without `what` it is a scope inside."""

    name: str
    seq: int
    what: Stepped | Ask | None = None


class Script:
    """The records of each scope, in order."""

    def __init__(self, facts: Iterable[tuple[int, AnyFact]]) -> None:
        self.scopes: dict[str, list[Item]] = {}
        self.branches: dict[str, int] = {}
        """How many branches each gather has in the record, as far as they left one."""
        self._known: dict[str, int] = {}
        for seq, fact in facts:
            if isinstance(fact, Stepped):
                self._place(Item(fact.name, seq, fact))
            elif isinstance(fact, Paused):
                for ask in fact.asks:
                    self._place(Item(ask.key, seq, ask))

    def items(self, scope: str) -> list[Item]:
        """What is recorded of the scope whose path is `scope`."""
        return self.scopes.get(scope, [])

    def at(self, name: str) -> int:
        """Where the record of a name is; 0 where there is none."""
        return self._known.get(name, 0)

    def taken(self) -> set[str]:
        """The messages that were received, by their ids."""
        return {
            item.what.value
            for items in self.scopes.values()
            for item in items
            if isinstance(item.what, Stepped) and _last(item.name).startswith("receive:")
        }

    def has(self, last: str) -> bool:
        """Whether a name is recorded, in whatever scope, that ends with `last`."""
        return any(_last(item.name) == last for items in self.scopes.values() for item in items)

    def _place(self, item: Item) -> None:
        scope, rest = "", item.name
        while True:
            head, slash, rest = rest.partition("/")
            if not slash:
                self._add(scope, item)
                return
            self._add(scope, Item(scope + head, item.seq))
            if not head.startswith("gather:"):
                # What an agent does in its scope is its own.
                return
            number, _, rest = rest.partition("/")
            gather = scope + head
            self.branches[gather] = max(self.branches.get(gather, 0), int(number) + 1)
            scope = f"{gather}/{number}/"

    def _add(self, scope: str, item: Item) -> None:
        if item.name not in self._known:
            self._known[item.name] = item.seq
            self.scopes.setdefault(scope, []).append(item)


def _last(name: str) -> str:
    return name.rpartition("/")[2]
