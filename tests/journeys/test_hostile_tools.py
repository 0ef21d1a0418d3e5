"""Whatever a tool does, it ends no run by accident, and is kept the same by every store."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import enum
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from remit import Agent, App, Budget, LeaseTerms, Run, ToolError, tool
from remit.store.protocol import Store
from remit.testing import Call, Say, ScriptedModel
from remit.values.clock import SystemClock
from remit.values.messages import ToolMessage

MEGABYTES_3 = "x" * 3_000_000


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Parcel(BaseModel):
    weight: Decimal
    sent: date


class Colour(enum.Enum):
    RED = "red"


def numbers() -> Iterator[int]:
    yield 1


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


RESULTS: dict[str, tuple[object, str]] = {
    "text": ("plain", "plain"),
    "nothing": (None, "null"),
    "nul": ("a\0b", "a\0b"),
    "half an emoji": ("hi \ud83d there", "hi \ud83d there"),
    "two halves": ("\ud83d\ude00", "\U0001f600"),
    "bytes": (b"\xff\x00", '"/wA="'),
    "nan": ({"mean": float("nan"), "max": float("inf")}, '{"mean":"NaN","max":"Infinity"}'),
    "decimal": (Decimal("1.10"), '"1.10"'),
    "datetime": (datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC), '"2026-05-04T03:02:01Z"'),
    "date": (date(2026, 5, 4), '"2026-05-04"'),
    "uuid": (uuid.UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
    "set": ({3, 1, 2}, "[1,2,3]"),
    "tuple": ((1, "a"), '[1,"a"]'),
    "enum": (Colour.RED, '"red"'),
    "dataclass": (Point(1, 2.5), '{"x":1,"y":2.5}'),
    "model": (
        Parcel(weight=Decimal("1.50"), sent=date(2026, 1, 2)),
        '{"weight":"1.50","sent":"2026-01-02"}',
    ),
    "number keys": ({1: "one"}, '{"1":"one"}'),
    "a great number": (2**70, str(2**70)),
    "empty": ("", ""),
}


async def ran(
    store: Store, function: Callable[..., Any], **options: Any
) -> tuple[Run, ToolMessage]:
    """A run that calls a tool made of `function` once, and the call's result."""
    function.__doc__ = "Does what it does."
    made = tool(name="do", timeout=options.pop("timeout", 5), **options)(function)
    agent = Agent(
        name="a",
        model=ScriptedModel([Call("do"), Say("done")]),
        tools=[made],
        budget=Budget(turns=3),
    )
    async with App(agents=[agent], store=store, clock=SystemClock()) as app:
        run = await asyncio.wait_for(app.run("a", "go"), 20)
    (result,) = (message for message in run.messages if isinstance(message, ToolMessage))
    return run, result


@pytest.mark.parametrize("name", RESULTS)
async def test_a_result_is_kept_in_its_one_form(store: Store, name: str) -> None:
    value, text = RESULTS[name]

    async def do() -> Any:
        return value

    run, result = await ran(store, do)
    assert (run.finish, result.status, result.text) == ("answer", "ok", text)


@pytest.mark.parametrize(
    "value", [numbers(), cyclic(), object()], ids=["generator", "cycle", "object"]
)
async def test_what_has_no_form_is_an_error_and_no_end(store: Store, value: object) -> None:
    async def do() -> Any:
        return value

    run, result = await ran(store, do)
    assert (run.finish, result.status) == ("answer", "error")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret sk-1"),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        asyncio.CancelledError(),
        RecursionError(),
        MemoryError(),
        StopIteration(),
        ExceptionGroup("many", [ValueError("secret sk-1")]),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_what_a_tool_raises_is_its_error_and_no_end(
    store: Store, error: BaseException, sync: bool
) -> None:
    def raising() -> str:
        raise error

    async def raising_async() -> str:
        raise error

    run, result = await ran(store, raising if sync else raising_async)
    assert (run.finish, result.status) == ("answer", "error")
    assert "sk-1" not in result.text


async def test_a_tool_error_reaches_the_model_word_for_word(store: Store) -> None:
    async def do() -> str:
        raise ToolError("Ask for the order's number.")

    _, result = await ran(store, do)
    assert (result.status, result.text) == ("error", "Ask for the order's number.")


async def test_three_megabytes_are_cut_with_a_note_or_kept_whole(store: Store) -> None:
    async def do() -> str:
        return MEGABYTES_3

    _, cut = await ran(store, do, max_result_chars=20_000)
    _, whole = await ran(store, do, max_result_chars=None)
    assert len(cut.text) < 20_200
    assert "3,000,000" in cut.text or "3000000" in cut.text
    assert whole.text == MEGABYTES_3


async def test_a_tool_that_hangs_times_out_and_the_run_goes_on(store: Store) -> None:
    async def do() -> str:
        await asyncio.Event().wait()
        return "late"

    run, result = await ran(store, do, timeout=0.05)
    assert (run.finish, result.status) == ("answer", "timeout")


async def test_a_thread_that_sleeps_past_its_timeout_is_left_and_its_result_dropped(
    store: Store,
) -> None:
    def do() -> str:
        time.sleep(0.3)
        return "late"

    began = time.monotonic()
    run, result = await ran(store, do, timeout=0.05)
    assert (run.finish, result.status) == ("answer", "timeout")
    assert "late" not in result.text
    assert time.monotonic() - began < 10


async def test_a_tool_that_swallows_its_cancel_cannot_keep_a_run_from_being_cancelled(
    store: Store,
) -> None:
    began = asyncio.Event()

    @tool(timeout=None)
    async def stubborn() -> str:
        """Never stops by itself."""
        began.set()
        while True:
            with contextlib.suppress(BaseException):
                await asyncio.sleep(0.01)

    agent = Agent(
        name="a",
        model=ScriptedModel([Call("stubborn")]),
        tools=[stubborn],
        budget=Budget(turns=3),
    )
    terms = LeaseTerms(grace=timedelta(seconds=0.05))
    async with App(agents=[agent], store=store, lease=terms, clock=SystemClock()) as app:
        run_id = await app.start("a", "go")
        await asyncio.wait_for(began.wait(), 5)
        assert await app.cancel(run_id) == "running"
        run = await asyncio.wait_for(app.wait(run_id), 5)
        seen = [event.kind async for event in app.events(run_id)]
    assert (run.status, run.finish) == ("cancelled", "cancelled")
    assert [message.status for message in run.messages if isinstance(message, ToolMessage)] == [
        "not_run"
    ]
    assert seen[-1] == "done"


async def test_four_of_ten_calls_run_at_once_and_each_gets_its_result(store: Store) -> None:
    now = most = 0
    four = asyncio.Event()

    @tool(timeout=0.5)
    async def do(number: int) -> str:
        """Does one of many things."""
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            if now == 4:
                four.set()
            await four.wait()
            if number == 3:
                raise ValueError("broken")
            if number == 5:
                await asyncio.Event().wait()
            return f"did {number}"
        finally:
            now -= 1

    agent = Agent(
        name="a",
        model=ScriptedModel([[Call("do", number=n) for n in range(10)], Say("done")]),
        tools=[do],
        budget=Budget(turns=3),
    )
    async with App(agents=[agent], store=store, clock=SystemClock()) as app:
        run = await asyncio.wait_for(app.run("a", "go"), 20)
    results = [message for message in run.messages if isinstance(message, ToolMessage)]
    statuses = ["ok"] * 10
    statuses[3], statuses[5] = "error", "timeout"
    assert [result.status for result in results] == statuses
    assert [result.text for result in results if result.status == "ok"] == [
        f"did {n}" for n in range(10) if n not in (3, 5)
    ]
    assert most == 4
