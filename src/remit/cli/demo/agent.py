"""The demo's help desk: three tools over the shop's orders, and rules unless a model is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import Field

from remit.agent.agent import Agent
from remit.agent.budget import Budget
from remit.cli.demo.orders import Order, OrderBook, RefusedRefund
from remit.cli.demo.rules import RulesModel
from remit.models.protocol import Model
from remit.tools.context import ToolContext
from remit.tools.tool import tool
from remit.values.errors import ToolError

GRANT: Final = frozenset({"payments:write"})
ASK_ABOVE: Final = 100

INSTRUCTIONS = """You run the help desk of a paper shop. Amounts are in euros.
Look an order up before you say anything about it. Refund what the customer asks for, no more
than what is left on the order, and nothing that was not asked for. Always send a reply."""


def nothing() -> None:
    """What happens after a refund, unless somebody wants to see a worker die there."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools work with: the orders, and what happens right after a refund's commit."""

    orders: OrderBook
    after_refund: Callable[[], None] = nothing


@tool
async def find_order(number: str, ctx: ToolContext[Desk]) -> Order | str:
    """Finds one of the customer's orders: items, total, what was refunded, status, tracking.

    Args:
        number: Like A-1042.
    """
    found = ctx.deps.orders.find(number, ctx.user or "")
    return found or f"This customer has no order {number}."


@tool(approval=lambda args: args.amount > ASK_ABOVE, needs={"payments:write"})
async def refund(
    order: str, amount: Annotated[Decimal, Field(gt=0)], ctx: ToolContext[Desk]
) -> str:
    """Refunds an order, fully or in part.

    Args:
        order: The order's number, like A-1042.
        amount: In euros.
    """
    try:
        done = ctx.deps.orders.refund(ctx.idempotency_key, order, ctx.user or "", amount)
    except RefusedRefund as refused:
        raise ToolError(str(refused)) from refused
    ctx.deps.after_refund()
    return f"Refunded {done} euros on {order}."


@tool
async def send_reply(text: str, ctx: ToolContext[Desk]) -> str:
    """Sends the customer the desk's reply.

    Args:
        text: The whole reply.
    """
    ctx.deps.orders.reply(ctx.idempotency_key, ctx.user or "", text)
    return "Sent."


def help_desk(pause: float = 0.0, model: Model | None = None) -> Agent[Any, Any]:
    """The demo's agent, driven by `model`, else by rules that take `pause` seconds an answer.

    Without rates a run is bounded by its turns alone.
    """
    asked = model or RulesModel(pause)
    return Agent(
        name="desk",
        model=asked,
        instructions=INSTRUCTIONS,
        tools=[find_order, refund, send_reply],
        budget=Budget(turns=6, cost="0.20" if asked.card.pricing else None),
        grant=GRANT,
    )
