"""A call ends once, as an outcome, whatever its tool returns."""

import asyncio
import contextvars
import dataclasses
import enum
import functools
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from remit.tools.context import ToolContext
from remit.tools.execute import execute
from remit.tools.tool import FunctionTool, Tool, tool
from remit.values.errors import ConfigError
from tests.unit.tools.calls import Desk, add, context, raising, shout


async def test_a_value_becomes_text() -> None:
    desk = Desk()

    assert (await desk.run(add, {"a": 1})).text == "3"
    assert (await desk.run(shout, {"word": "hi"})).text == "HI"
    assert desk.abandoned.count == 0


async def test_a_tool_without_parameters_runs_on_an_empty_object() -> None:
    @tool
    async def now() -> str:
        """Tells."""
        return "12:00"

    assert (await Desk().run(now, {})).text == "12:00"


async def test_a_tool_is_given_its_context() -> None:
    @tool
    def who(ctx: ToolContext[Any]) -> str:
        """Tells."""
        return f"{ctx.run_id} {ctx.idempotency_key}"

    assert (await Desk().run(who)).text == "run_1 k_1"


async def test_a_sync_tool_does_not_block_the_loop() -> None:
    go, gone = threading.Event(), asyncio.Event()

    @tool
    def waits() -> bool:
        """Waits."""
        return go.wait(5)

    async def other() -> None:
        go.set()
        gone.set()

    async with asyncio.TaskGroup() as group:
        call = group.create_task(Desk().run(waits))
        group.create_task(other())

    assert call.result().text == "true"
    assert gone.is_set()


async def test_context_variables_are_seen_and_do_not_leak() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="")
    user.set("ann")

    def look() -> str:
        """Looks."""
        seen = user.get()
        user.set("bob")
        return seen

    async def look_async() -> str:
        """Looks."""
        return look()

    for made in (tool(look), tool(look_async)):
        assert (await Desk().run(made)).text == "ann"
        assert user.get() == "ann"


def sneaky() -> Awaitable[int]:
    """Gives a coroutine."""
    return add(40)


class Later:
    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return 42


def later() -> Later:
    """Gives something to await."""
    return Later()


@functools.wraps(add.handler)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return add.handler(*args, **kwargs)


@pytest.mark.parametrize(
    ("made", "arguments"),
    [(tool(sneaky), {}), (tool(later), {}), (tool(wrapped), {"a": 40})],
    ids=["coroutine", "awaitable", "wrapper"],
)
async def test_what_a_sync_function_gives_to_await_is_awaited(
    made: Tool, arguments: dict[str, Any]
) -> None:
    assert (await Desk().run(made, arguments)).text == "42"


async def test_a_coroutine_inside_a_result_is_an_error_without_a_warning() -> None:
    @tool
    async def nested() -> Any:
        """Gives a coroutine."""
        return add(1)

    outcome = await Desk().run(nested)

    assert outcome.status == "error"
    assert "coroutine has no JSON form" in outcome.text


async def test_a_result_without_a_json_form_is_a_recorded_error() -> None:
    class Odd:
        @property
        def __dict__(self) -> NoReturn:  # type: ignore[override]
            raise SystemExit

    for value in (Odd(), {"a": {1: 1, "1": 2}}, (n for n in range(3))):

        @tool
        def odd(value: Any = value) -> Any:
            """Gives it."""
            return value

        outcome = await Desk().run(odd)
        assert outcome.status == "error"
        assert outcome.text.startswith("The tool ran, but its result cannot be used: ")


# What is promised


class Order(BaseModel):
    number: str
    total: float


class Colour(enum.Enum):
    RED = "red"


def giving(value: Any, **options: Any) -> FunctionTool[..., Any]:
    async def give() -> Any:
        """Gives."""
        runs.append(1)
        return value

    runs: list[int] = []
    return tool(give, **options)


@pytest.mark.parametrize(
    ("value", "returns"),
    [
        (Order(number="A", total=1), Order),
        ({"number": "A", "total": 1.5}, Order),
        ([{"number": "A", "total": 1.5}], list[Order]),
        ("text", str),
        ("half \ud83d", str),
        (["half \ud83d"], list[str]),
        (Colour.RED, Colour),
        ({b"a"}, set[bytes]),
        (Decimal("1.10"), Decimal),
        (timedelta(days=1), timedelta),
        (5, int | str),
        (None, None),
        ((1, "a"), tuple[int, str]),
        ({"n": 1}, {"type": "object", "properties": {"n": {"type": "integer"}}}),
        ([1, 2], {"type": "array"}),
    ],
)
async def test_a_kept_promise_changes_nothing(value: Any, returns: Any) -> None:
    promised = await Desk().run(giving(value, returns=returns))

    assert promised == await Desk().run(giving(value))
    assert promised.status == "ok"


@pytest.mark.parametrize(
    ("value", "returns"),
    [
        ({"number": "A"}, Order),
        (Order.model_construct(number="A", total="secret"), Order),
        ("5", int),
        (5, str),
        (1.5, int),
        (None, int),
        ([1, "x"], list[int]),
        ("x", {"type": "object"}),
        ({"n": "1"}, {"type": "object", "properties": {"n": {"type": "integer"}}}),
        (object(), Order),
    ],
)
async def test_a_broken_promise_is_an_error_and_not_a_crash(value: Any, returns: Any) -> None:
    outcome = await Desk().run(giving(value, returns=returns))

    assert outcome.status == "error"
    assert outcome.text.startswith("The tool ran, but its result cannot be used: ")
    assert "secret" not in outcome.text


async def test_a_broken_promise_is_told_in_full_where_that_is_wished() -> None:
    made = giving({"number": "A"}, returns=Order, expose_errors=True)

    assert "total: Field required" in (await Desk().run(made)).text


async def test_a_system_without_threads_gives_an_error_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)

    assert (await Desk().run(shout, {"word": "hi"})).status == "error"


async def test_a_failing_call_loses_no_siblings_result() -> None:
    @tool(timeout=0.02)
    async def hangs() -> None:
        """Hangs."""
        await asyncio.Event().wait()

    desk = Desk()
    outcomes = await asyncio.gather(
        desk.run(shout, {"word": "a"}),
        desk.run(raising(ValueError())[0]),
        desk.run(hangs),
        desk.run(add, {"a": 1}),
    )

    assert [outcome.status for outcome in outcomes] == ["ok", "error", "timeout", "ok"]


async def test_a_hundred_sync_calls_run_side_by_side() -> None:
    meet = threading.Barrier(100)

    @tool
    def meets() -> str:
        """Meets the others."""
        meet.wait(10)
        return "met"

    desk = Desk()
    outcomes = await asyncio.gather(*(desk.run(meets) for _ in range(100)))
    await desk.abandoned.close()

    assert {outcome.text for outcome in outcomes} == {"met"}


async def test_a_call_costs_few_python_calls() -> None:
    calls = 0

    def count(frame: object, event: str, argument: object) -> Callable[..., None] | None:
        nonlocal calls
        calls += event == "call"
        return None

    @tool
    async def quick(a: int) -> str:
        """Is quick."""
        return "x"

    desk, checked, ctx = Desk(), quick.check({"a": 1}), context()
    terms: dict[str, Any] = {"clock": desk.clock, "abandoned": desk.abandoned}
    await execute(quick, checked, ctx, **terms)
    sys.setprofile(count)
    for _ in range(10):
        await execute(quick, checked, ctx, **terms)
    sys.setprofile(None)

    assert calls / 10 < 60


def test_a_promise_survives_a_changed_copy() -> None:
    made = giving(1, returns=int)

    assert dataclasses.replace(made, name="other").promise is not None
    with pytest.raises(ConfigError):
        dataclasses.replace(made, returns="int")
