"""What stands for a model in the demo: rules, and no language model. It sees the request alone."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from remit.cli.demo.reading import OrderWish, Reading, read
from remit.cli.demo.replies import LookedUp, Refund, answer, reply
from remit.models.pricing import Pricing
from remit.models.protocol import Card
from remit.models.request import (
    CallChunk,
    Chunk,
    ModelRequest,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.values.content import Call
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from remit.values.usage import Usage

RATES: Final = Pricing(input=3, output=15)
"""Made up, so that the books show money: rules cost nothing."""

MOST_ORDERS: Final = 6
_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that the rules want."""

    name: str
    arguments: dict[str, Any]


Move = Sequence[Ask] | str


@dataclass(frozen=True, slots=True)
class Done:
    """What was called since the newest message, with its results."""

    calls: tuple[tuple[Call, ToolMessage | None], ...]

    def of(self, tool: str) -> list[tuple[Call, ToolMessage | None]]:
        """The calls of one tool."""
        return [pair for pair in self.calls if pair[0].name == tool]


class RulesModel:
    """A Model whose next move is a pure function of the request."""

    name = "rules:desk"
    card = Card(pricing=RATES)

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        """How many seconds an answer takes."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The move's pieces. Tokens are estimated at four characters each."""
        await asyncio.sleep(self._pause)
        move = decide(request)
        if isinstance(move, str):
            for piece in re.findall(r"\S+\s*", move):
                yield TextChunk(piece)
        else:
            for index, ask in enumerate(move):
                yield CallChunk(index, ask.name, json.dumps(ask.arguments))
        yield UsageChunk(_usage(request, move))
        yield StopChunk("end" if isinstance(move, str) else "calls")


def decide(request: ModelRequest) -> Move:
    """The next move: look the orders up, refund what is asked for, reply, and say what was done."""
    message, done = _newest(request.messages)
    offered = {tool.name for tool in request.tools}
    reading = read(message)
    orders = reading.orders[:MOST_ORDERS]
    asked = {call.arguments.get("number") for call, _ in done.of("find_order")}
    missing = [one for one in orders if one.order not in asked]
    if missing and "find_order" in offered:
        return [Ask("find_order", {"number": one.order}) for one in missing]
    found = {one.order: _looked_up(one.order, done) for one in orders}
    refunds = _refunds(orders, found)
    if refunds and not done.of("refund") and "refund" in offered:
        return refunds
    return _reply(reading, orders, found, done, offered)


def _reply(
    reading: Reading,
    orders: Sequence[OrderWish],
    found: dict[str, LookedUp | None],
    done: Done,
    offered: set[str],
) -> Move:
    refunds = {
        str(call.arguments.get("order")): Refund(
            amount=str(call.arguments.get("amount")),
            status=result.status if result else "not_run",
            text=result.text if result else "",
        )
        for call, result in done.of("refund")
    }
    replies = done.of("send_reply")
    if not replies and "send_reply" in offered:
        return [Ask("send_reply", {"text": reply(reading, orders, found, refunds)})]
    sent = any(result is not None and result.status == "ok" for _, result in replies)
    return answer(orders, refunds, sent=sent)


def _newest(messages: Sequence[Message]) -> tuple[str, Done]:
    """The newest message of a person, and the calls since."""
    text, since = "", messages
    for index, message in enumerate(messages):
        if isinstance(message, UserMessage):
            text, since = message.text, messages[index + 1 :]
    results = {one.call_id: one for one in since if isinstance(one, ToolMessage)}
    calls = (call for one in since if isinstance(one, AssistantMessage) for call in one.calls)
    return text, Done(tuple((call, results.get(call.id)) for call in calls))


def _looked_up(order: str, done: Done) -> LookedUp | None:
    """What the tool told of an order; None if it told of none."""
    for call, result in done.of("find_order"):
        if call.arguments.get("number") == order and result is not None and result.status == "ok":
            return _order(result.text)
    return None


def _order(text: str) -> LookedUp | None:
    try:
        told = json.loads(text)
        return LookedUp(
            number=told["number"],
            items=told["items"],
            total=Decimal(told["total"]),
            refunded=Decimal(told["refunded"]),
            status=told["status"],
            tracking=told["tracking"],
        )
    except (ValueError, KeyError, TypeError, ArithmeticError):
        return None


def _refunds(orders: Sequence[OrderWish], found: dict[str, LookedUp | None]) -> list[Ask]:
    """A refund for each wish that its order can still bear."""
    asks = []
    for one in orders:
        order = found[one.order]
        if one.wish != "refund" or one.sum is None or order is None:
            continue
        amount = order.asked(one.sum)
        if 0 < amount <= order.left:
            asks.append(Ask("refund", {"order": one.order, "amount": str(amount)}))
    return asks


def _usage(request: ModelRequest, move: Move) -> Usage:
    read_chars = len(request.instructions) + sum(map(_length, request.messages))
    read_chars += sum(len(tool.description) + len(str(tool.schema)) for tool in request.tools)
    written = move if isinstance(move, str) else json.dumps([ask.arguments for ask in move])
    return Usage(
        input_tokens=read_chars // _CHARS_A_TOKEN + 1,
        output_tokens=len(written) // _CHARS_A_TOKEN + 1,
        estimated=True,
    )


def _length(message: Message) -> int:
    if isinstance(message, AssistantMessage):
        return len(message.text) + sum(len(json.dumps(call.arguments)) for call in message.calls)
    return len(message.text)
