"""A call ends once, in time, as an outcome, whatever its tool does."""

import asyncio
import contextvars
import dataclasses
import enum
import functools
import gc
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from remit.tools.context import ToolContext
from remit.tools.execute import execute
from remit.tools.tool import FunctionTool, Tool, tool
from remit.values.errors import ConfigError, LetGo, ToolError
from tests.unit.tools.calls import Desk, context, manual


@pytest.fixture(autouse=True, scope="module")
def no_leftovers() -> Any:
    """What is collected after these tests must not complain: it shall fail here and not later."""
    yield
    gc.collect()


@tool
async def add(a: int, b: int = 2) -> int:
    """Adds."""
    await asyncio.sleep(0)
    return a + b


@tool
def shout(word: str) -> str:
    """Shouts."""
    return word.upper()


def raising(error: BaseException, **options: Any) -> tuple[Tool, Tool]:
    """An async and a sync tool that raise it."""

    async def fails() -> None:
        """Fails."""
        raise error

    def fails_on_a_thread() -> None:
        """Fails."""
        raise error

    return tool(fails, **options), tool(fails_on_a_thread, **options)


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


# What is raised


@pytest.mark.parametrize("which", [0, 1], ids=["async", "sync"])
async def test_a_tool_errors_text_reaches_the_model_word_for_word(which: int) -> None:
    outcome = await Desk().run(raising(ToolError("Ask for the order number first."))[which])

    assert (outcome.text, outcome.status) == ("Ask for the order number first.", "error")
    assert isinstance(outcome.error, ToolError)


async def test_a_tool_error_inside_a_group_reaches_the_model_too() -> None:
    group = ExceptionGroup("both", [ToolError("One."), ExceptionGroup("in", [ToolError("Two.")])])

    assert (await Desk().run(raising(group)[0])).text == "One.\nTwo."


class Mute(Exception):
    def __str__(self) -> NoReturn:
        raise SystemExit(3)


@pytest.mark.parametrize("which", [0, 1], ids=["async", "sync"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret"),
        ExceptionGroup("secret", [ValueError("secret"), ToolError("secret")]),
        BaseExceptionGroup("secret", [KeyboardInterrupt("secret")]),
        SystemExit("secret"),
        KeyboardInterrupt("secret"),
        GeneratorExit("secret"),
        asyncio.CancelledError("secret"),
        StopIteration("secret"),
        StopAsyncIteration("secret"),
        TimeoutError("secret"),
        Mute("secret"),
        RecursionError("secret"),
        ToolError("  "),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_is_an_error_with_a_safe_sentence(
    error: BaseException, which: int, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()

    outcome = await desk.run(raising(error)[which])

    assert outcome.status == "error"
    assert outcome.text.startswith("The tool failed. ")
    assert "secret" not in outcome.text
    assert "Traceback" not in outcome.text
    assert [record.name for record in caplog.records if record.exc_info] == ["remit.tools"] * (
        not isinstance(error, ToolError)
    )
    assert (await desk.run(add, {"a": 1})).text == "3"


async def test_class_and_message_are_told_only_where_that_is_wished() -> None:
    outcome = await Desk().run(raising(ValueError("x" * 10_000), expose_errors=True)[0])

    assert outcome.text.startswith("ValueError: xxx")
    assert len(outcome.text) < 2_100
    assert (await Desk().run(raising(Mute(), expose_errors=True)[1])).text == "Mute: "


async def test_a_long_tool_error_is_cut_like_a_result() -> None:
    outcome = await Desk().run(raising(ToolError("x" * 100), max_result_chars=10)[0])

    assert outcome.text == "x" * 10 + "\n[Cut: the first 10 of 100 characters.]"


@pytest.mark.parametrize("which", [0, 1], ids=["async", "sync"])
@pytest.mark.parametrize("wrap", [False, True], ids=["bare", "group"])
async def test_letting_go_of_the_run_is_no_result(which: int, wrap: bool) -> None:
    class Paused(LetGo):
        pass

    error: BaseException = BaseExceptionGroup("in", [Paused()]) if wrap else Paused()

    with pytest.raises(Paused):
        await Desk().run(raising(error)[which])


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


# Time


async def test_a_tool_past_its_time_is_cancelled_and_told() -> None:
    seen: list[str] = []

    @tool(timeout=30)
    async def slow(ctx: ToolContext[Any]) -> str:
        """Sleeps."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(f"cancelled {ctx.cancelled}")
        return "late"

    begun = asyncio.Event()
    desk, clock = manual()
    call = asyncio.create_task(desk.run(slow, ctx=context()))
    await begun.wait()
    await asyncio.sleep(0)
    clock.advance(29.9)
    await asyncio.sleep(0)
    assert not call.done()
    clock.advance(0.1)
    outcome = await call

    assert outcome.status == "timeout"
    assert "timed out after 30 seconds" in outcome.text
    assert "may or may not" in outcome.text
    assert seen == ["cancelled True"]
    assert desk.abandoned.count == 0


async def test_a_tool_without_a_limit_sets_no_alarm() -> None:
    @tool(timeout=None)
    async def slow() -> str:
        """Sleeps."""
        await go.wait()
        return "done"

    go = asyncio.Event()
    desk, clock = manual()
    call = asyncio.create_task(desk.run(slow))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(10**9)
    go.set()

    assert (await call).text == "done"


async def test_a_blocking_sync_tool_times_out_and_its_late_result_is_dropped() -> None:
    go, told = threading.Event(), list[object]()

    @tool(timeout=0.02)
    def blocks(ctx: ToolContext[Any]) -> str:
        """Blocks."""
        go.wait(5)
        ctx.progress("late")
        told.append(ctx.cancelled)
        return "late"

    desk = Desk(grace=5)
    begun = time.perf_counter()
    outcome = await desk.run(blocks, ctx=context(lambda *told_of: told.append(told_of)))

    assert outcome.status == "timeout"
    assert time.perf_counter() - begun < 0.5
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 1)
    go.set()
    await desk.abandoned.close(5)
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 0)
    assert told == [True]
    assert outcome.status == "timeout"


@pytest.mark.slow
async def test_a_tool_that_sleeps_on_a_thread_does_not_outlast_its_timeout() -> None:
    @tool(timeout=0.2)
    def slow() -> str:
        """Sleeps."""
        time.sleep(1.5)
        return "late"

    desk = Desk()
    begun = time.perf_counter()
    outcome = await desk.run(slow)
    assert time.perf_counter() - begun < 0.5
    await desk.abandoned.close(5)

    assert outcome.status == "timeout"
    assert desk.abandoned.going == 0


async def test_a_late_coroutine_of_a_thread_is_never_run() -> None:
    go, ran = threading.Event(), []

    async def effect() -> None:
        ran.append(1)

    @tool(timeout=0.02)
    def blocks() -> Any:
        """Blocks."""
        go.wait(5)
        return effect()

    desk = Desk()
    assert (await desk.run(blocks)).status == "timeout"
    go.set()
    await desk.abandoned.close(5)

    assert ran == []
    assert desk.abandoned.going == 0


async def test_what_a_sync_function_gave_to_await_shares_its_time() -> None:
    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    @tool(timeout=0.05)
    def gives() -> Any:
        """Gives a coroutine."""
        return hangs()

    ended: list[int] = []
    desk = Desk()

    assert (await desk.run(gives)).status == "timeout"
    assert ended == [1]
    assert desk.abandoned.count == 0


# Stubborn tools


def stubborn(**options: Any) -> tuple[Tool, list[int], asyncio.Event]:
    """A tool that answers every cancel by going on, how often it did, and that it has begun."""
    answers: list[int] = []
    begun = asyncio.Event()

    async def goes_on() -> None:
        """Goes on."""
        while True:
            begun.set()
            try:
                await asyncio.sleep(0.001)
            except BaseException:
                answers.append(1)

    return tool(goes_on, **options), answers, begun


async def test_a_tool_that_swallows_its_timeout_is_left_behind_and_never_resumed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made, answers, _ = stubborn(timeout=0.01)
    desk = Desk(grace=0.02)

    outcome = await desk.run(made)
    await asyncio.sleep(0)

    assert outcome.status == "timeout"
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 0)
    assert "goes_on would not stop" in caplog.text
    # One cancel by the timeout, one GeneratorExit at the end.
    assert len(answers) == 2
    await asyncio.sleep(0.01)
    assert len(answers) == 2


async def test_a_cancel_is_final_after_the_grace_time() -> None:
    made, answers, begun = stubborn()
    desk = Desk(grace=0.02)
    ctx = context()
    call = asyncio.create_task(desk.run(made, ctx=ctx))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert ctx.cancelled
    assert not ctx.life.left_behind
    assert (desk.abandoned.count, desk.abandoned.going) == (1, 0)
    assert len(answers) == 2
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_second_cancel_does_not_wait_for_the_grace_time() -> None:
    made, _, begun = stubborn()
    desk, _ = manual()
    call = asyncio.create_task(desk.run(made))
    await begun.wait()
    call.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not call.done()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.abandoned.count == 1


async def test_a_cancel_lets_a_tool_clean_up_within_the_grace_time() -> None:
    cleaned: list[int] = []

    @tool
    async def careful() -> None:
        """Cleans up."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            cleaned.append(1)

    begun = asyncio.Event()
    desk = Desk(grace=5)
    call = asyncio.create_task(desk.run(careful))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert cleaned == [1]
    assert desk.abandoned.count == 0


async def test_a_cancel_reaches_a_thread_through_the_context() -> None:
    begun, stopped = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    @tool
    def watches(ctx: ToolContext[Any]) -> str:
        """Watches."""
        loop.call_soon_threadsafe(begun.set)
        while not ctx.cancelled:
            time.sleep(0.001)
        stopped.append(1)
        return "late"

    desk = Desk(grace=5)
    call = asyncio.create_task(desk.run(watches, ctx=context()))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert stopped == [1]
    assert desk.abandoned.count == 0


async def test_a_cancel_of_a_stuck_thread_is_raised_after_the_grace_time() -> None:
    go, begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool
    def stuck() -> str:
        """Blocks."""
        loop.call_soon_threadsafe(begun.set)
        go.wait(5)
        return "late"

    desk, ctx = Desk(grace=0.01), context()
    call = asyncio.create_task(desk.run(stuck, ctx=ctx))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.abandoned.going == 1
    assert ctx.life.left_behind
    go.set()
    await desk.abandoned.close(5)
    assert desk.abandoned.going == 0


async def test_a_call_that_is_cancelled_before_it_begins_runs_nothing() -> None:
    ran: list[int] = []

    @tool
    async def effect() -> None:
        """Has an effect."""
        ran.append(1)

    call = asyncio.create_task(Desk().run(effect))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert ran == [1] or ran == []


async def test_a_cancel_wins_over_a_result_of_the_same_moment() -> None:
    @tool
    async def quick() -> str:
        """Cancels its caller and ends."""
        call.cancel()
        return "done"

    desk = Desk()
    call = asyncio.create_task(desk.run(quick))

    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.abandoned.count == 0


async def test_a_call_dropped_without_a_cancel_leaves_nothing_behind() -> None:
    made, _, begun = stubborn()
    desk = Desk()
    call = execute(made, made.check({}), context(), clock=desk.clock, abandoned=desk.abandoned)
    waited_for = call.send(None)
    del waited_for
    await begun.wait()
    call.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


def test_a_loop_can_end_while_a_stubborn_tool_runs() -> None:
    async def main() -> None:
        made, _, begun = stubborn()
        asyncio.get_running_loop().create_task(Desk().run(made))
        await begun.wait()

    asyncio.run(main())


def test_a_thread_may_outlive_its_loop() -> None:
    go, done = threading.Event(), threading.Event()
    desk = Desk()

    @tool(timeout=0.01)
    def stuck() -> Any:
        """Blocks."""
        go.wait(5)
        return add(1)

    assert asyncio.run(desk.run(stuck)).status == "timeout"
    desk.abandoned.threads.run(done.set)
    go.set()
    assert done.wait(5)
    for _ in range(1_000):
        if not desk.abandoned.going:
            break
        time.sleep(0.001)
    assert desk.abandoned.going == 0


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


def test_an_outcomes_error_is_for_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outcome = asyncio.run(Desk().run(raising(ToolError("Say so."))[0]))

    assert isinstance(outcome.error, ToolError)
    assert "Say so." in caplog.text
    with pytest.raises(AttributeError):
        outcome.text = "other"  # type: ignore[misc]


def test_a_promise_survives_a_changed_copy() -> None:
    made = giving(1, returns=int)

    assert dataclasses.replace(made, name="other").promise is not None
    with pytest.raises(ConfigError):
        dataclasses.replace(made, returns="int")
