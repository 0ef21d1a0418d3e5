"""The workflow whose runs the stored journals of workflows hold: it is never changed, so that
every later version of remit replays it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypedDict

from remit import Agent, Budget, Model, WorkflowRun, tool, workflow
from remit.errors import StepFailedError
from remit.testing.model import Call, Say, ScriptedModel


class Order(TypedDict):
    number: str
    amount: int


@tool(approval="always", repeat="ask")
async def refund(amount: int) -> str:
    """Refunds."""
    return f"refunded {amount}"


def desk_agent(model: Model) -> Agent[Any, Any]:
    return Agent(name="desk", model=model, tools=[refund], budget=Budget(turns=3))


def model_of() -> ScriptedModel:
    return ScriptedModel([Call("refund", amount=150), Say("Refunded.")])


async def pack(run: WorkflowRun) -> str:
    packed: str = await run.step("pack", lambda: "packed \x00 ✓")
    agreed: str = await run.ask("Ship it?", returns=str)
    return f"{packed}, {agreed}"


async def refund_it(run: WorkflowRun) -> str:
    return str((await run.agent("desk", "Refund 150")).text)


def broken() -> None:
    raise ValueError("no stamps")


@workflow(name="order")
async def order(run: WorkflowRun, input: Order) -> list[Any]:
    checked = await run.step("check", dict, input)
    stamped = "yes"
    try:
        await run.step("stamp", broken)
    except StepFailedError as error:
        stamped = error.error
    both = await run.gather(pack, refund_it)
    carrier = await run.receive()
    await run.sleep(timedelta(hours=1))
    newer = await run.patched("insured")
    return [checked["number"], stamped, both, carrier, newer]
