"""Sums of the ledger as a page, and as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

from remit.app.spending import Group
from remit.cli.render.page import Block, Cell, Column, Line, Listing
from remit.cli.render.wording import level, money, one_line
from remit.values.exact import add, to_nano
from remit.values.spent import Spent

_WHOLE = "whole sum"
_MARKS = 20
_MOST = 64
"""No id is longer, and names of models are cut there."""

Filled = tuple[Column, Sequence[str]]


def ordered(sums: Iterable[Spent]) -> list[Spent]:
    """Days alone with the newest last, and other groups with the dearest first."""
    found = list(sums)
    if all(tuple(each.by) == ("day",) for each in found):
        return sorted(found, key=lambda each: each.by["day"] or "")
    return sorted(found, key=lambda each: each.cost, reverse=True)


def line(spent: Spent) -> dict[str, Any]:
    """A sum for programs: money is text, so that no reader makes a float of it."""
    return {
        "kind": "spent",
        "by": spent.by,
        "cost": money(spent.cost),
        "estimated": money(spent.estimated),
        "calls": spent.calls,
    }


def page(groups: Sequence[Group], sums: Sequence[Spent]) -> list[Block]:
    """A row for each sum, with a bar where only days are told apart, and the whole sum last."""
    if not sums:
        return [Line("Nothing was spent: the ledger has no such calls.", "dim")]
    whole = Spent(
        by={group: _WHOLE if group == groups[0] else "" for group in groups},
        cost=reduce(add, [each.cost for each in sums]),
        estimated=reduce(add, [each.estimated for each in sums]),
        calls=sum(each.calls for each in sums),
    )
    filled = list(_filled(groups, [*sums, whole]))
    if tuple(groups) == ("day",):
        filled.append((Column(""), [*bars(sums), ""]))
    *rows, last = zip(*[texts for _, texts in filled], strict=True)
    cells = [[Cell(text) for text in row] for row in rows]
    cells.append([Cell(text, "strong") for text in last])
    blocks: list[Block] = [Listing([column for column, _ in filled], cells)]
    if not whole.cost:
        blocks.append(Line("Calls of models whose rates are not declared cost nothing.", "dim"))
    return blocks


def bars(sums: Sequence[Spent]) -> list[str]:
    """A bar for each, in proportion to the dearest; of what cost anything a mark at least."""
    nano = [to_nano(each.cost) for each in sums]
    dearest = max(nano) or 1
    return ["#" * -(-each * _MARKS // dearest) for each in nano]


def _filled(groups: Sequence[Group], every: Sequence[Spent]) -> Iterator[Filled]:
    for group in groups:
        values = [each.by[group] for each in every]
        texts = ["-" if value is None else one_line(value, _MOST) for value in values]
        yield _column(group, texts, whole=group in ("day", "run")), texts
    for title, texts in (
        ("cost", level([each.cost for each in every])),
        ("estimated", level([each.estimated for each in every])),
        ("calls", [str(each.calls) for each in every]),
    ):
        yield _column(title, texts, right=True, whole=True), texts


def _column(title: str, texts: Sequence[str], *, right: bool = False, whole: bool) -> Column:
    return Column(title, max(map(len, [title, *texts])), right=right, whole=whole)
