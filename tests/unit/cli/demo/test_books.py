"""The books say what is not as it must be, whatever the story told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from remit import Caller, Run, Turn, Usage
from remit.cli.demo import books
from remit.cli.demo.books import Books
from remit.cli.demo.messages import CustomerMessage
from remit.cli.demo.orders import Count
from remit.cli.demo.story import Seen
from remit.cli.render import plain
from remit.cli.sight import Decided, Sight
from remit.values.content import Call
from remit.values.messages import ToolMessage

MESSAGE = CustomerMessage("m_01", "u_1", "refund it")


def refunded(amount: str = "20.00", refunds: int = 1, entered: int = 2) -> Count:
    return Count("key_1", "A-1", Decimal(amount), refunds, entered)


def sight(*, approved: bool = False, made: bool = True, **changes: Any) -> Sight:
    """A run with one refund."""
    call = Call("call_1", "refund", {"order": "A-1", "amount": "20.00"}, "key_1")
    used = Usage(input_tokens=9, output_tokens=1, cost=Decimal("0.5"))
    run = Run(
        **{
            "id": "run_1",
            "agent": "desk",
            "status": "succeeded",
            "finish": "answer",
            "turns": (Turn(number=0, model="m", usage=used, usage_id="x", calls=(call,)),),
            "messages": (ToolMessage("call_1", "refund", "Refunded."),) if made else (),
            "usage": used,
            **changes,
        }
    )
    decided = Decided("approve", None, Caller(user="staff_3"), None)  # type: ignore[arg-type]
    return Sight(run, {"call_1": decided} if approved else {})


def found(one: Sight, *counts: Count, seen: Seen | None = None, shipped: bool = False) -> list[str]:
    kept = Books([(MESSAGE, one)], counts, sum(count.entered for count in counts))
    told = seen or Seen(killed=True, cut=counts[0] if counts else None, approved=["call_1"])
    return books.problems(kept, told, shipped=shipped)


def test_what_went_well_has_no_problem() -> None:
    assert found(sight(), refunded(), shipped=True) == []
    assert found(sight(approved=True), refunded("150.00")) == []


@pytest.mark.parametrize(
    ("problems", "told"),
    [
        (found(sight(), refunded(refunds=2)), "holds 2 refunds for the key key_1"),
        (found(sight(), refunded(entered=1)), "was not tried again"),
        (found(sight(made=False), refunded()), "disagree about which refunds were made"),
        (found(sight()), "disagree about which refunds were made"),
        (found(sight(), refunded("150.00")), "nobody approved it"),
        (found(sight(status="running", finish=None), refunded()), "has not ended: it is running"),
        (found(sight(status="failed", finish="turns"), refunded()), "is failed: turns"),
        (found(sight(status="failed", finish=None, error="Boom: x"), refunded()), "Boom: x"),
        (found(sight(), refunded(), seen=Seen()), "worker A was not killed"),
        (found(sight(made=False), seen=Seen(), shipped=True), "worker A was not killed"),
        (found(sight(), refunded(), seen=Seen(killed=True), shipped=True), "waited for a person"),
        (found(sight(), refunded(), seen=Seen(killed=True, problem="stuck")), "stuck"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_as_it_must_be_is_told(problems: list[str], told: str) -> None:
    assert [problem for problem in problems if told in problem]


def test_the_books_print_both_counts_and_say_whose_rates_they_are() -> None:
    kept = Books([(MESSAGE, sight())], [refunded()], 3)

    page = "\n".join(plain.lines(books.page(kept)))

    assert "1 refund in the database, 3 entries of the body." in page
    assert "Entered 2 times: key_1; refunded 1 time." in page
    assert "made-up rates of the scripted model, 3 in and 15 out" in page
    assert "In total 0.5." in page
    assert books.values(kept)["entries"] == 3
