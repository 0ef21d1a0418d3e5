"""A tool gets what it declared, whatever its call went through before."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import pytest
from annotated_types import Ge
from pydantic import BaseModel

from remit import Agent, ModelRequest, Run, Tool, tool
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Call, Say
from remit.values.messages import ToolMessage
from tests.journeys.clerk import (
    STAFF,
    app_of,
    calls_of,
    clerk,
    cut_short,
    ended,
    may_die,
    results,
)


@dataclasses.dataclass
class Point:
    x: int


class Parcel(BaseModel):
    weight: float
    inside: list[Parcel] = []


class Line(TypedDict):
    sku: str


class Colour(enum.Enum):
    RED = "red"


SENT: dict[str, Any] = {
    "point": '{"x": "1"}',
    "parcel": {"weight": "1.5", "inside": [{"weight": 2, "inside": None}]},
    "lines": '[{"sku": "A"}]',
    "level": "3",
    "colour": "red",
    "when": "2026-01-02T03:04:05Z",
    "id": "6f0c9b5e-1f3a-4b7e-9a55-0d7f5b2a1c11",
    "loud": "true",
}
KEPT = SENT | {
    "point": {"x": 1},
    "parcel": {"weight": 1.5, "inside": [{"weight": 2}]},
    "lines": [{"sku": "A"}],
    "level": 3,
    "loud": True,
}
Seen = list[dict[str, Any]]


def taking(seen: Seen, approval: Any) -> Tool:
    @tool(approval=approval)
    async def take(  # noqa: PLR0913  # every kind of class once
        point: Point,
        parcel: Parcel,
        lines: list[Line],
        level: Annotated[int, Ge(1)],
        colour: Colour,
        when: datetime,
        id: UUID,
        loud: bool,
    ) -> str:
        """Takes everything."""
        seen.append(dict(locals()))
        return "taken"

    return take


def model(request: ModelRequest) -> Say | Call:
    if any(isinstance(message, ToolMessage) for message in request.messages):
        return Say("done")
    return Call("take", **SENT)


def agent(seen: Seen, approval: Any) -> Agent[Any, Any]:
    return clerk(cut_short([model] * 9), [taking(seen, approval)])


def check(seen: Seen, run: Run) -> None:
    assert [result.status for result in results(run.messages)] == ["ok"]
    assert seen
    for each in seen:
        assert each["point"] == Point(1)
        assert each["parcel"] == Parcel(weight=1.5, inside=[Parcel(weight=2)])
        assert each["lines"] == [{"sku": "A"}]
        assert (each["level"], each["loud"]) == (3, True)
        assert each["colour"] is Colour.RED
        assert isinstance(each["when"], datetime)
        assert isinstance(each["id"], UUID)


async def test_in_a_call_that_runs_at_once(store: Store, clock: ManualClock) -> None:
    seen: Seen = []
    async with app_of(agent(seen, "never"), store, clock) as app:
        check(seen, await app.run("clerk", "x"))


@pytest.mark.parametrize("edited", [False, True])
async def test_in_a_call_that_a_person_approved(
    store: Store, clock: ManualClock, edited: bool
) -> None:
    seen: Seen = []
    checked: list[Any] = []

    def asks(args: Any) -> bool:
        checked.append(args)
        return True

    async with app_of(agent(seen, asks), store, clock) as app:
        run = await app.run("clerk", "x")
    assert calls_of(run.pending)[0].arguments == KEPT
    assert (checked[0].point, checked[0].level) == (Point(1), 3)
    async with app_of(agent(seen, asks), store, clock) as app:
        pending = run.pending[0].id
        decision: dict[str, Any] = {"edit": {pending: SENT}} if edited else {"approve": [pending]}
        await app.decide(run.id, by=STAFF, **decision)
        check(seen, await ended(app, run.id))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_in_a_call_that_runs_again_after_a_crash(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    async def live(of: Store, seen: Seen, user: str) -> Run:
        async with app_of(agent(seen, "never"), of, clock) as app:
            found = await app.runs(user=user)
            run = found[0].id if found else await app.start("clerk", "x", user=user)
            return await ended(app, run)

    def life(of: Store, seen: Seen, user: str) -> Callable[[], Any]:
        return lambda: live(of, seen, user)

    counting = CrashStore(store, at=None)
    await live(counting, [], "u_0")
    deaths = 0
    for number in range(1, counting.writes):
        seen: Seen = []
        deaths += await may_die(life(CrashStore(store, at=number, when=when), seen, f"u_{number}"))
        clock.advance(60)
        check(seen, await live(store, seen, f"u_{number}"))
    assert deaths > 5
