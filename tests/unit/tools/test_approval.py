"""Whether a person must agree, and what exactly they agree to."""

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.tools.approval import asks, digest
from remit.tools.context import ToolContext
from remit.tools.tool import FunctionTool, Tool, tool
from remit.values import codec
from remit.values.errors import LetGo
from tests.unit.tools.calls import Desk, context, manual


def refund(approval: Any) -> FunctionTool[..., Any]:
    @tool(approval=approval)
    async def refund(order: str, amount: Decimal = Decimal(0), tags: list[str] = []) -> str:  # noqa: B006
        """Refunds."""
        return order

    return refund


async def verdict(made: Tool, arguments: dict[str, Any]) -> str | None:
    desk = Desk()
    return await asks(
        made, made.check(arguments), context(), clock=desk.clock, abandoned=desk.abandoned
    )


async def over_100(args: Any) -> bool:
    await asyncio.sleep(0)
    return bool(args.amount > 100)


class Limits:
    async def __call__(self, args: Any, ctx: ToolContext[Any]) -> bool:
        return bool(args.amount > 100 and ctx.run_id == "run_1")


@pytest.mark.parametrize(
    "check",
    [
        lambda args: args.amount > 100,
        lambda args, ctx: args.amount > 100 and ctx.run_id == "run_1",
        lambda args, context=None: args.amount > 100 and context.run_id == "run_1",
        lambda args, limit=100: args.amount > limit,
        lambda *args: args[0].amount > 100,
        over_100,
        lambda args: over_100(args),
        Limits(),
    ],
)
async def test_a_check_decides_by_the_checked_arguments(check: Callable[..., object]) -> None:
    made = refund(check)

    assert await verdict(made, {"order": "A", "amount": "100"}) is None
    assert "refund" in str(await verdict(made, {"order": "A", "amount": "100.01"}))


async def test_always_asks_and_never_does_not() -> None:
    assert "refund" in str(await verdict(refund("always"), {"order": "A"}))
    assert await verdict(refund("never"), {"order": "A"}) is None


async def test_a_tool_from_a_schema_is_checked_as_a_dict() -> None:
    async def pay(args: dict[str, Any], ctx: ToolContext[Any]) -> None: ...

    made = Tool(
        name="pay",
        description="Pays.",
        schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        handler=pay,
        approval=lambda args: args["n"] > 1,
    )

    assert await verdict(made, {"n": "2"})
    assert await verdict(made, {"n": "1"}) is None


def raises(error: BaseException) -> Callable[..., object]:
    def check(args: Any) -> bool:
        raise error

    return check


def raises_later(error: BaseException) -> Callable[..., object]:
    async def check(args: Any) -> bool:
        raise error

    return check


class Unsure:
    def __bool__(self) -> bool:
        raise RuntimeError


@pytest.mark.parametrize("when", [raises, raises_later])
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("secret"),
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
    ],
    ids=repr,
)
async def test_a_check_that_raises_counts_as_ask(
    when: Callable[[BaseException], Any], error: BaseException
) -> None:
    reason = await verdict(refund(when(error)), {"order": "A"})

    assert reason is not None
    assert "secret" not in reason


@pytest.mark.parametrize(
    "answer", [None, 0, 1, "", "no", [], Unsure()], ids=lambda v: type(v).__name__
)
async def test_an_answer_that_is_no_bool_counts_as_ask(answer: object) -> None:
    assert "no yes or no" in str(await verdict(refund(lambda args: answer), {"order": "A"}))


async def test_a_check_that_hangs_counts_as_ask() -> None:
    async def hangs(args: Any) -> bool:
        begun.set()
        await asyncio.Event().wait()
        return False

    begun = asyncio.Event()
    desk, clock = manual()
    made = refund(hangs)
    asked = asyncio.create_task(
        asks(made, made.check({"order": "A"}), context(), clock=clock, abandoned=desk.abandoned)
    )
    await begun.wait()
    await asyncio.sleep(0)
    clock.advance(10)

    assert "failed" in str(await asked)


async def test_a_cancel_during_a_check_is_raised() -> None:
    async def hangs(args: Any) -> bool:
        begun.set()
        await asyncio.Event().wait()
        return False

    begun = asyncio.Event()
    asked = asyncio.create_task(verdict(refund(hangs), {"order": "A"}))
    await begun.wait()
    asked.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_run_that_is_let_go_is_let_go_from_a_check_too() -> None:
    with pytest.raises(LetGo):
        await verdict(refund(raises_later(LetGo())), {"order": "A"})


async def test_a_check_cannot_change_what_runs() -> None:
    def meddles(args: Any) -> bool:
        args.tags.append("x")
        return False

    made = refund(meddles)
    checked = made.check({"order": "A", "tags": ["a"]})
    desk = Desk()
    await asks(made, checked, context(), clock=desk.clock, abandoned=desk.abandoned)

    assert checked.tags == ["a"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {}),
        ({"a": []}, {"a": {}}),
        ({"a": "x", "b": "y"}, {"a": "y", "b": "x"}),
        ({"a": "\udcaf"}, {"a": "\ufffd"}),
        ({"a": "\udcaf"}, {"a": "\\udcaf"}),
        ({"a": "e\u0301"}, {"a": "é"}),
    ],
)
def test_different_arguments_have_different_digests(one: Any, other: Any) -> None:
    assert digest("t", one) != digest("t", other)


def test_a_digest_is_of_the_tool_too() -> None:
    assert digest("a", {}) != digest("b", {})
    assert len(digest("a", {})) == 64


def test_the_order_of_keys_does_not_matter() -> None:
    assert digest("t", {"a": {"x": 1, "y": 2}, "b": 1}) == digest(
        "t", {"b": 1, "a": {"y": 2, "x": 1}}
    )


def test_what_json_cannot_hold_has_no_digest() -> None:
    with pytest.raises(TypeError):
        digest("t", {"a": object()})


anything = st.text(st.characters(), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=6,
)


@given(st.dictionaries(anything, json_values, max_size=4))
def test_a_digest_is_the_same_before_and_after_the_arguments_were_stored(
    arguments: dict[str, Any],
) -> None:
    stored = codec.decode(codec.encode(arguments), dict)

    assert digest("t", arguments) == digest("t", stored)


@given(st.dictionaries(st.text(max_size=8), json_values, min_size=2, max_size=4))
def test_a_digest_does_not_depend_on_the_order_of_arrival(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))

    assert digest("t", turned) == digest("t", arguments)
    assert json.dumps(turned) != json.dumps(arguments)
