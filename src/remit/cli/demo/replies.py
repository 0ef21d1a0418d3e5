"""What the desk's rules write: replies to customers, and what they say they have done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from remit.cli.demo.amounts import Sum
from remit.cli.demo.reading import OrderWish, Reading


@dataclass(frozen=True, slots=True)
class LookedUp:
    """An order as the tool told of it."""

    number: str
    items: str
    total: Decimal
    refunded: Decimal
    status: str
    tracking: str | None

    @property
    def left(self) -> Decimal:
        """What can still be refunded."""
        return self.total - self.refunded

    def asked(self, sum_: Sum) -> Decimal:
        """What a wish for `sum_` comes to; all of it is what is left."""
        return self.left if sum_ == Sum() else sum_.of(self.total)


@dataclass(frozen=True, slots=True)
class Refund:
    """A refund that was tried: its amount, how the call ended, and what the tool said."""

    amount: str
    status: str
    text: str


def reply(
    reading: Reading,
    orders: Sequence[OrderWish],
    found: Mapping[str, LookedUp | None],
    refunds: Mapping[str, Refund],
) -> str:
    """The reply to a message, a sentence or two for each order."""
    if not orders:
        return f"Hello, {_without_order(reading)}"
    parts = [_about(one, found[one.order], refunds.get(one.order)) for one in orders]
    return " ".join(["Hello.", *parts, "Kind regards, your help desk."])


def answer(orders: Sequence[OrderWish], refunds: Mapping[str, Refund], *, sent: bool) -> str:
    """What was done, for whoever reads the run."""
    done = [
        f"refunded {one.amount} on {order}" for order, one in refunds.items() if one.status == "ok"
    ]
    not_done = [f"no refund on {order}" for order, one in refunds.items() if one.status != "ok"]
    told = "replied" if sent else "no reply could be sent"
    about = f" about {', '.join(one.order for one in orders)}" if orders else ""
    said = f"{'; '.join([*done, *not_done, told])}{about}."
    return said[0].upper() + said[1:]


def _without_order(reading: Reading) -> str:
    if reading.polite and reading.wish in ("nothing", "where") and not reading.asks:
        return "thank you for your kind words!"
    if reading.wish != "nothing" or reading.about_shop:
        return (
            "I would gladly look into it. Please tell me the order's number: it begins with A-"
            " and stands at the top of your invoice."
        )
    return "I can help with orders, deliveries and refunds. What can I look up for you?"


def _about(one: OrderWish, order: LookedUp | None, refund: Refund | None) -> str:
    if order is None:
        return f"I cannot find {one.order} among your orders; please check the number."
    match one.wish:
        case "refund":
            return _refunded(one, order, refund)
        case "which_sum":
            return f"How much of the sum is for {order.number}? I will refund it then."
        case "refund_status":
            return _refund_so_far(order)
        case "change":
            return (
                f"I cannot change {order.number} ({order.status}) myself; a colleague takes over."
            )
        case "complaint":
            return (
                f"I am sorry about {order.number} ({order.items})."
                " Tell me if you would like a refund, and of how much."
            )
        case _:
            return _standing(order)


def _refunded(one: OrderWish, order: LookedUp, refund: Refund | None) -> str:
    if refund is None:
        assert one.sum is not None
        if order.left <= 0:
            return f"{order.number} has been refunded in full already."
        return (
            f"{order.asked(one.sum)} euros are more than can be refunded on {order.number}:"
            f" at most {order.left} euros."
        )
    if refund.status == "ok":
        return f"We refunded {refund.amount} euros on {order.number}."
    if refund.status == "denied":
        why = refund.text.partition(": ")[2] or "ask us why"
        return f"A colleague looked at your refund on {order.number} and refused it: {why}."
    return f"The refund on {order.number} did not go through; a colleague takes over."


def _refund_so_far(order: LookedUp) -> str:
    if order.refunded > 0:
        return f"On {order.number} we refunded {order.refunded} euros so far."
    return (
        f"No refund has been made on {order.number} ({order.status}) so far;"
        " a colleague looks into it."
    )


def _standing(order: LookedUp) -> str:
    track = f", tracking number {order.tracking}" if order.tracking else ""
    said = f"{order.number} ({order.items}) is {order.status}{track}."
    if order.status != "delivered":
        return said
    return f"{said} Write again if it is not there, and we have it searched for."
