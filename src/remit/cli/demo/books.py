"""The books: what was done, counted from both databases, and whether it is as it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from remit.cli.demo.agent import ASK_ABOVE
from remit.cli.demo.messages import CustomerMessage
from remit.cli.demo.orders import Count, OrderBook
from remit.cli.demo.rules import RATES
from remit.cli.demo.story import Seen
from remit.cli.render.page import (
    Block,
    Cell,
    Column,
    Fields,
    Heading,
    Line,
    Listing,
    Tone,
    tone_of_status,
)
from remit.cli.render.wording import count, money
from remit.cli.sight import Sight
from remit.models.protocol import Model
from remit.values.results import ENDED

LABEL = (
    "made-up rates of the scripted model,"
    f" {RATES.input} in and {RATES.output} out per million tokens"
)
NO_MONEY = f"{LABEL}: no money was spent"
NO_RATES = "no rates were declared"

_REFUNDS = (
    Column("order", 8),
    Column("euros", 8, right=True),
    Column("refunds", 7, right=True),
    Column("entered", 7, right=True),
    Column("key", 36, whole=True),
)
_SPEND = (
    Column("message", 8),
    Column("status", 9),
    Column("turns", 5, right=True),
    Column("tokens", 6, right=True),
    Column("cost", 9, right=True),
    Column("run", 30, whole=True),
)


@dataclass(frozen=True, slots=True)
class Books:
    """Runs with their messages, and the shop's refunds with the entries of the tool's body."""

    runs: Sequence[tuple[CustomerMessage, Sight]]
    refunds: Sequence[Count]
    entries: int
    rates: str = NO_MONEY
    """Where the costs come from."""

    @property
    def total(self) -> Decimal:
        """What all runs spent."""
        return sum((sight.run.usage.cost or Decimal(0) for _, sight in self.runs), Decimal(0))

    @property
    def statuses(self) -> Mapping[str, int]:
        """How many runs there are of each status."""
        return Counter(sight.run.status for _, sight in self.runs)

    @property
    def pending(self) -> int:
        """How many calls wait for a decision."""
        return sum(len(sight.waiting) for _, sight in self.runs)


def rates(model: Model | None) -> str:
    """Where the costs of runs with `model`, or with the rules, come from."""
    if model is None:
        return NO_MONEY
    pricing = model.card.pricing
    if pricing is None:
        return NO_RATES
    return f"at {pricing.input} in and {pricing.output} out per million tokens, as declared"


def keep(
    runs: Sequence[tuple[CustomerMessage, Sight]], orders: OrderBook, rates: str = NO_MONEY
) -> Books:
    """The books of these runs and the shop's orders."""
    return Books(runs, orders.counts(), orders.entries(), rates)


def problems(books: Books, seen: Seen, *, shipped: bool) -> list[str]:
    """What is not as it must be; nothing where the demo went well."""
    return list(_problems(books, seen, shipped=shipped))


def _problems(books: Books, seen: Seen, *, shipped: bool) -> Iterator[str]:
    if seen.problem is not None:
        yield seen.problem
    for message, sight in books.runs:
        if sight.run.status not in ENDED:
            yield f"the run of {message.id} has not ended: it is {sight.run.status}"
        elif sight.run.status != "succeeded" and (sight.run.error or books.rates == NO_MONEY):
            why = sight.run.error or sight.run.finish
            yield f"the run of {message.id} is {sight.run.status}: {why}"
    if (books.refunds or shipped) and not seen.killed:
        yield "worker A was not killed"
    if shipped and not seen.approved:
        yield f"no refund over {ASK_ABOVE} waited for a person"
    yield from _wrong_refunds(books, seen)


def _wrong_refunds(books: Books, seen: Seen) -> Iterator[str]:
    rows = {one.key: one for one in books.refunds}
    for one in rows.values():
        if one.refunds != 1:
            yield f"the order database holds {count(one.refunds, 'refund')} for the key {one.key}"
    if seen.cut is not None and rows[seen.cut.key].entered < 2:
        yield f"the refund that the kill cut short was not tried again: {seen.cut.key}"
    recorded = dict(_recorded(books))
    if set(recorded) != set(rows):
        yield "the journals and the order database disagree about which refunds were made"
    for key in set(recorded) & set(rows):
        if rows[key].amount > ASK_ABOVE and not recorded[key]:
            yield f"a refund of {rows[key].amount} was made and nobody approved it: {key}"


def _recorded(books: Books) -> Iterator[tuple[str, bool]]:
    """Each refund that a journal says was made, by its key, and whether a person approved it."""
    for _, sight in books.runs:
        for turn in sight.run.turns:
            for call in turn.calls:
                result = sight.results.get(call.id)
                if call.name == "refund" and result is not None and result.status == "ok":
                    decision = sight.decided.get(call.id)
                    yield call.key, decision is not None and decision.verdict == "approve"


def page(books: Books) -> list[Block]:
    """The books for people."""
    statuses = [
        (status, Cell(str(number), tone_of_status(status)))
        for status, number in books.statuses.items()
    ]
    rows = sum(one.refunds for one in books.refunds)
    twice = [one for one in books.refunds if one.entered > 1]
    blocks: list[Block] = [
        Heading("Runs by status"),
        Fields([*statuses, ("pending calls", Cell(str(books.pending)))]),
        Heading("Refunds in the order database, and how often the tool's body was entered"),
        Listing(_REFUNDS, [_refund(one) for one in books.refunds]),
        Line(
            f"{count(rows, 'refund')} in the database,"
            f" {count(books.entries, 'entry', 'entries')} of the body."
        ),
    ]
    blocks += [
        Line(
            f"Entered {one.entered} times: {one.key}; refunded {count(one.refunds, 'time')}.",
            "good" if one.refunds == 1 else "bad",
        )
        for one in twice
    ]
    return [
        *blocks,
        Heading(f"Spend ({books.rates})"),
        Listing(_SPEND, [_spend(message, sight) for message, sight in books.runs]),
        *([] if books.rates == NO_RATES else [Line(f"In total {money(books.total)}.")]),
    ]


def values(books: Books) -> dict[str, Any]:
    """The books for programs."""
    return {
        "kind": "books",
        "runs": dict(books.statuses),
        "pending": books.pending,
        "refunds": [
            {
                "key": one.key,
                "order": one.order,
                "amount": str(one.amount),
                "refunds": one.refunds,
                "entered": one.entered,
            }
            for one in books.refunds
        ],
        "refund_rows": sum(one.refunds for one in books.refunds),
        "entries": books.entries,
        "spend": {
            "rates": LABEL if books.rates == NO_MONEY else books.rates,
            "total": None if books.rates == NO_RATES else money(books.total),
            "by_run": [
                {
                    "message": message.id,
                    "run": sight.run.id,
                    "status": sight.run.status,
                    "turns": len(sight.run.turns),
                    "cost": money(sight.run.usage.cost),
                }
                for message, sight in books.runs
            ],
        },
    }


def _refund(one: Count) -> list[Cell]:
    tone: Tone = "bad" if one.refunds != 1 else "good" if one.entered > 1 else "plain"
    return [
        Cell(one.order),
        Cell(str(one.amount)),
        Cell(str(one.refunds), tone),
        Cell(str(one.entered), tone),
        Cell(one.key),
    ]


def _spend(message: CustomerMessage, sight: Sight) -> list[Cell]:
    run = sight.run
    return [
        Cell(message.id),
        Cell(run.status, tone_of_status(run.status)),
        Cell(str(len(run.turns))),
        Cell(str(run.usage.tokens)),
        Cell(money(run.usage.cost)),
        Cell(run.id),
    ]
