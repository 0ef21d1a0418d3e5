"""A help desk whose effects are counted outside of remit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from remit import Agent, Budget, ToolContext, tool
from remit.models.request import ModelRequest
from remit.testing.model import Call, Item, Say, ScriptedModel
from remit.values.messages import AssistantMessage, ToolMessage


@dataclass
class World:
    """What tools did: how often each body was entered, and each effect by idempotency key."""

    entered: Counter[str] = field(default_factory=Counter)
    effects: dict[str, str] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    """Which turns the model was asked for."""

    def note(self, tool: str, ctx: ToolContext[Any]) -> None:
        self.entered[tool] += 1
        self.keys.append(ctx.idempotency_key)


def tools(world: World) -> list[Any]:
    @tool
    async def find_order(number: str, ctx: ToolContext[Any]) -> str:
        """Finds an order by its number."""
        world.note("find_order", ctx)
        return f"{number} is shipped"

    @tool
    async def find_customer(number: str, ctx: ToolContext[Any]) -> str:
        """Finds who ordered."""
        world.note("find_customer", ctx)
        return f"{number} was ordered by c_9"

    @tool(approval=lambda args: args.amount > 100, needs={"payments:write"})
    async def refund(order: str, amount: int, ctx: ToolContext[Any]) -> str:
        """Refunds an order."""
        world.note("refund", ctx)
        world.effects.setdefault(ctx.idempotency_key, f"{order}:{amount}")
        return f"refunded {amount}"

    return [find_order, find_customer, refund]


def turn_of(request: ModelRequest) -> int:
    """Which turn a request is for."""
    return sum(isinstance(message, AssistantMessage) for message in request.messages)


def by_conversation(request: ModelRequest) -> Any:
    """Two lookups side by side, a refund of 150, an answer: decided by what the request holds."""
    done = [message for message in request.messages if isinstance(message, ToolMessage)]
    if not done:
        return [Call("find_order", number="A-1"), Call("find_customer", number="A-1")]
    if len(done) == 2:
        return [Say("Refunding."), Call("refund", order="A-1", amount=150)]
    return Say(f"Done: {done[-1].text}")


def endless(world: World | None = None, answers: int = 200) -> ScriptedModel:
    """A model that answers by the conversation, as often as it is asked."""

    def answer(request: ModelRequest) -> Any:
        if world is not None:
            world.turns.append(turn_of(request))
        return by_conversation(request)

    model = ScriptedModel([answer] * answers)
    model.assert_used = lambda: None  # type: ignore[method-assign]  # a script of any length
    return model


def desk(world: World, model: ScriptedModel | Sequence[Item], **changes: Any) -> Agent[Any, Any]:
    """The help desk, with a model or a script for one."""
    given = model if isinstance(model, ScriptedModel) else ScriptedModel(model)
    options: dict[str, Any] = {
        "name": "desk",
        "model": given,
        "instructions": "Help.",
        "tools": tools(world),
        "budget": Budget(turns=8),
        "grant": {"payments:write"},
    }
    return Agent(**(options | changes))
