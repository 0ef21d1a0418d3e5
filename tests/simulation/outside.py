"""What agents touch: a model that nobody can predict, and tools whose effects are counted."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from remit import Agent, Budget, ModelRequest, ToolContext, ToolError, tool
from remit.kernel.facts import Answered, Started
from remit.models.protocol import Card
from remit.models.request import CallChunk, Chunk, StopChunk, TextChunk, UsageChunk
from remit.testing.model import FREE
from remit.tools.tool import Tool
from remit.values import codec
from remit.values.messages import AssistantMessage, Message, UserMessage
from remit.values.usage import Usage
from tests.journeys.clerk import check_request
from tests.simulation.history import History
from tests.simulation.loop import MACHINE, Machine, SimLoop, SimTask

TURNS, INSIDE_TURNS = 6, 3


@dataclass
class Outside:
    """The world that keeps no journal. `effects` holds what was done by idempotency key."""

    loop: SimLoop
    history: History
    random: Random
    effects: dict[str, Any] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    going: dict[str, list[tuple[Machine, int]]] = field(default_factory=dict)
    """Who makes a call just now, and how often they had been frozen when they began."""
    outside: contextvars.Context = field(default_factory=contextvars.copy_context)

    def pause(self) -> float:
        """How long something takes: mostly nothing, now and then longer than a lease."""
        if self.random.random() < 0.5:
            return 0.0
        return self.random.choice([0.01, 0.5, 3.0, 3.0, 30.0]) * self.random.random()

    def begin_step(self, run: str, name: str, token: int | None = None) -> bool:
        """A step is about to be made here: by who holds the run, and only if none is recorded.

        False for what was begun before the machine froze, and goes on when it thaws.
        """
        machine, task = MACHINE.get(), asyncio.current_task()
        assert machine is not None
        assert isinstance(task, SimTask)
        self.history.note(machine.name, f"makes {run} {name}")
        told, about = self.history.runs[run], (machine.name, run, name)
        begun_before = token is not None and task.born <= machine.frozen_at
        if machine.thawed_at == self.loop.time() and begun_before:
            return False
        self.history.require(
            self.history.holds(machine.name, run, token), "only a holder makes a step", *about
        )
        self.history.require(name not in told.steps, "a recorded step is never made again", *about)
        return True

    @contextmanager
    def call(self, ctx: ToolContext[Outside]) -> Iterator[None]:
        """A call is made here, and nowhere else but on machines that stopped in the middle."""
        key, machine = ctx.idempotency_key, MACHINE.get()
        assert machine is not None
        due = self.begin_step(ctx.run_id, step_of(key), ctx.lease_token)
        going = self.going.setdefault(key, [])
        for other, freezes in going:
            alone = other.state != "running" or other.freezes != freezes or not due
            self.history.require(alone, "a call is made once at a time", key, other.name)
        me = machine, machine.freezes
        going.append(me)
        try:
            yield
        finally:
            going.remove(me)

    def begin_once(self, run: str, key: str) -> None:
        """A call that nobody may make twice begins: each time with a word of its own for it."""
        told, name = self.history.runs[run], step_of(key)
        self.begun[key] = self.begun.get(key, 0) + 1
        starts = [fact for fact in told.facts if isinstance(fact, Started) and fact.name == name]
        allowed = [
            fact
            for fact in told.facts
            if isinstance(fact, Answered)
            and fact.key.startswith(f"{name}/again:")
            and fact.value["verdict"] == "approve"
        ]
        at_most = min(len(starts), len(allowed) + 1)
        self.history.require(
            self.begun[key] <= at_most, "what may have happened is asked about", key, at_most
        )

    async def effect(self, key: str, what: Any) -> None:
        """Ask the world for an effect, which it has even if who asked is gone."""
        machine: Machine | None = MACHINE.get()
        answer = self.loop.create_future()
        context = self.outside.copy()
        context.run(MACHINE.set, None)

        def take() -> None:
            first = self.effects.setdefault(key, what)
            self.history.require(first == what, "a key stands for one effect", key, first, what)
            self.history.note(machine.name if machine else "", f"has its effect {key} {what}")
            self.loop.call_later(self.pause(), _answer, answer, context=context)

        self.loop.call_later(self.pause(), take, context=context)
        await answer


def step_of(key: str) -> str:
    """The step of the call with this idempotency key, inside an agent's call or not."""
    *path, turn, number = key.split("/")[1:]
    return "/".join([*path, f"turn:{turn}", f"call:{number}"])


def _answer(answer: asyncio.Future[None]) -> None:
    if not answer.done():
        answer.set_result(None)


@tool
async def look(number: int, ctx: ToolContext[Outside]) -> str:
    """Looks something up."""
    with ctx.deps.call(ctx):
        await asyncio.sleep(ctx.deps.pause())
    return f"seen {number}"


@tool
async def fail(number: int, ctx: ToolContext[Outside]) -> str:
    """Fails."""
    with ctx.deps.call(ctx):
        await asyncio.sleep(ctx.deps.pause())
        raise ToolError(f"there is no {number}")


@tool(timeout=15)
async def linger(number: int, ctx: ToolContext[Outside]) -> str:
    """Takes its time, and is slow to leave."""
    random = ctx.deps.random
    with ctx.deps.call(ctx):
        try:
            await asyncio.sleep(random.random() * 20)
        except asyncio.CancelledError:
            await asyncio.sleep(random.random() * 10)
            raise
    return f"seen {number}"


@tool
async def pay(number: int, ctx: ToolContext[Outside]) -> str:
    """Pays."""
    with ctx.deps.call(ctx):
        await ctx.deps.effect(ctx.idempotency_key, number)
    return f"paid {number}"


@tool(approval="always")
async def refund(number: int, ctx: ToolContext[Outside]) -> str:
    """Refunds."""
    with ctx.deps.call(ctx):
        await ctx.deps.effect(ctx.idempotency_key, number)
    return f"refunded {number}"


@tool(repeat="ask")
async def wire(number: int, ctx: ToolContext[Outside]) -> str:
    """Does what nobody may do twice, and nobody can look up."""
    with ctx.deps.call(ctx):
        ctx.deps.begin_once(ctx.run_id, ctx.idempotency_key)
        await ctx.deps.effect(ctx.idempotency_key, number)
    return f"wired {number}"


TOOLS: list[Tool] = [look, fail, linger, pay, refund, wire]
EFFECTS = {"pay": "paid", "refund": "refunded", "wire": "wired"}
CHOSEN = ["look", "fail", "linger", "pay", "pay", "refund", "refund", "wire", "none"]
SCOUT = "scout"


class Whim:
    """Answers a question another way each time that it is asked. What it lets another work on
    tells where in the run that one works."""

    name = "sim:whim"
    card: Card = FREE

    def __init__(self, outside: Outside, turns: int, chosen: list[str]) -> None:
        self._outside, self._turns, self._chosen = outside, turns, chosen

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        outside, random = self._outside, self._outside.random
        check_request(request)
        task, turn = _place(request.messages)
        said, _, path = task.partition(">")
        run = outside.history.run_of[said]
        outside.begin_step(run, f"{path}turn:{turn}/think")
        await asyncio.sleep(outside.pause())
        yield TextChunk(f"Thought {random.randrange(1000)} ")
        if random.random() < 0.2:
            await asyncio.sleep(outside.pause())
        calls = 0 if turn >= self._turns - 1 else random.choice([0, 1, 1, 1, 2, 4])
        for number in range(calls):
            name = random.choice(self._chosen)
            arguments: dict[str, Any] = {"number": random.randrange(1000)}
            if name == SCOUT:
                arguments = {"task": f"{said}>turn:{turn}/call:{number}/agent/"}
            yield CallChunk(number, name, codec.encode(arguments).decode())
        yield UsageChunk(Usage(input_tokens=10, output_tokens=10))
        yield StopChunk("calls" if calls else "end")


def _place(messages: tuple[Message, ...]) -> tuple[str, int]:
    """The newest question's text, and how many answers came to it so far."""
    turn = 0
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return message.text, turn
        turn += isinstance(message, AssistantMessage)
    raise AssertionError("a request without a question")


def agent(outside: Outside) -> Agent[Outside, str]:
    # A whim goes in circles now and then, and is told by the question what to do next.
    inner: Agent[Outside, str] = Agent(
        name=SCOUT,
        model=Whim(outside, INSIDE_TURNS, CHOSEN),
        tools=TOOLS,
        budget=Budget(turns=INSIDE_TURNS),
        brakes=None,
    )
    return Agent(
        name="sim",
        model=Whim(outside, TURNS, [*CHOSEN, SCOUT]),
        tools=[*TOOLS, inner.as_tool(description="Works on its own.")],
        budget=Budget(turns=TURNS),
        brakes=None,
    )
