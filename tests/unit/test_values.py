"""The small values: ids, clocks, money, usage, identities and errors."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.testing.clock import ManualClock
from remit.values import codec, errors, ids
from remit.values.clock import SystemClock
from remit.values.errors import ConfigError, LetGo, RemitError, StoreError
from remit.values.exact import from_nano
from remit.values.identity import Caller, is_id
from remit.values.messages import UserMessage
from remit.values.money import amount
from remit.values.usage import Usage, sound

COUNTS = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_long_tokens",
    "output_tokens",
    "reasoning_tokens",
)


def test_ids_are_in_the_order_of_their_making() -> None:
    made = []
    for _ in range(5):
        made.append(ids.new("run"))
        time.sleep(0.002)

    assert made == sorted(made)


def test_ids_never_meet() -> None:
    assert len({ids.new("run") for _ in range(10_000)}) == 10_000


def test_an_id_tells_its_kind_and_is_plain() -> None:
    made = ids.new("call")

    assert made.startswith("call_")
    assert len(made) == len("call_") + 26
    assert made.isascii()
    assert is_id(made)


def test_the_system_s_steady_time_is_the_same_for_every_process() -> None:
    clock = SystemClock()
    program = "from remit.values.clock import SystemClock; print(SystemClock().steady())"

    before = clock.steady()
    theirs = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    after = clock.steady()

    assert before <= float(theirs.stdout) <= after
    assert abs(clock.wall() - time.time()) < 1


async def test_sleepers_wake_when_their_time_has_come() -> None:
    clock = ManualClock()
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as tasks:
        sleeping = [tasks.create_task(sleep(seconds)) for seconds in (3, 1, 2, 9)]
        await asyncio.sleep(0)
        clock.advance(2.5)
        await asyncio.wait(sleeping[1:3])
        assert woken == [1, 2]
        sleeping[3].cancel()
        clock.advance(100)

    assert woken == [1, 2, 3]


def test_a_manual_clock_moves_both_times() -> None:
    clock = ManualClock(wall=10, steady=1)

    clock.advance(2.5)

    assert (clock.wall(), clock.steady()) == (12.5, 3.5)


@pytest.mark.parametrize(
    ("value", "exact"),
    [(0.3, "0.3"), ("0.1", "0.1"), (3, "3"), (Decimal("1e-12"), "1e-12"), (0, "0")],
)
def test_an_amount_is_what_was_written(value: Any, exact: str) -> None:
    assert amount(value, "budget") == Decimal(exact)


@pytest.mark.parametrize("value", [-1, "-0.01", "x", "", True, float("nan"), float("inf"), "nan"])
def test_an_amount_that_is_none_is_told_by_name(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^budget must be"):
        amount(value, "budget")


@given(st.integers(-(10**18), 10**18))
def test_billionths_are_exact_and_as_short_as_they_can_be(nano: int) -> None:
    exact = from_nano(nano)

    assert exact * 10**9 == nano
    assert not str(exact).endswith("0") or exact == exact.to_integral_value()


def test_usage_adds_up() -> None:
    one = Usage(input_tokens=10, cache_read_tokens=4, output_tokens=3, cost=Decimal("0.1"))
    other = Usage(
        input_tokens=1,
        cache_write_tokens=1,
        cache_write_long_tokens=1,
        reasoning_tokens=2,
        estimated=True,
    )

    both = one + other

    assert both == Usage(
        input_tokens=11,
        cache_read_tokens=4,
        cache_write_tokens=1,
        cache_write_long_tokens=1,
        output_tokens=3,
        reasoning_tokens=2,
        cost=Decimal("0.1"),
        estimated=True,
    )
    assert both.tokens == 14
    assert (one + one).cost == Decimal("0.2")
    assert (Usage() + Usage()).cost is None


_counts = st.integers(-3, 12)


@given(st.builds(Usage, **dict.fromkeys(COUNTS, _counts)))
def test_a_report_is_left_alone_exactly_where_its_parts_fit_and_nothing_is_negative(
    told: Usage,
) -> None:
    fits = (
        all(getattr(told, name) >= 0 for name in COUNTS)
        and told.cache_read_tokens + told.cache_write_tokens <= told.input_tokens
        and told.cache_write_long_tokens <= told.cache_write_tokens
        and told.reasoning_tokens <= told.output_tokens
    )

    found = sound(told)

    assert (found is told) == fits
    assert found.estimated == (not fits)
    assert sound(found) is found


def test_a_clamped_report_keeps_the_whole_and_takes_from_its_parts() -> None:
    told = Usage(input_tokens=10, cache_read_tokens=8, cache_write_tokens=8, reasoning_tokens=4)

    assert sound(told) == Usage(
        input_tokens=10, cache_read_tokens=8, cache_write_tokens=2, estimated=True
    )


@pytest.mark.parametrize("value", ["a", "u_42", "a.b:c-d", "x" * 64])
def test_an_app_s_id_is_an_id(value: str) -> None:
    assert is_id(value)


@pytest.mark.parametrize(
    "value", ["", "x" * 65, "ann@example.org", "Ann Lee", "ä", "a\n", "a/b", "a\0", None, 7, b"a"]
)
def test_a_name_or_an_address_is_no_id(value: object) -> None:
    assert not is_id(value)


def test_callers_compare_by_what_they_are() -> None:
    assert Caller(user="u", roles=frozenset({"a"})) == Caller(user="u", roles=frozenset({"a"}))
    assert Caller(user="u") != Caller(user="v")


@pytest.mark.parametrize(
    "wrong",
    [
        {"user": 5},
        {"tenant": b"t"},
        {"roles": "staff"},
        {"roles": None},
        {"may": {5}},
        {"may": {"pay": True}},
        {"may": True},
    ],
    ids=str,
)
def test_a_caller_that_no_journal_could_hold_is_refused_when_it_is_made(
    wrong: dict[str, Any],
) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"Caller.{name} must be"):
        Caller(**wrong)


def test_a_caller_s_roles_are_a_set_however_they_are_given() -> None:
    caller = Caller(user="u", roles={"a"}, may=["b", "b"])  # type: ignore[arg-type]  # as people write it

    assert (caller.roles, caller.may) == (frozenset({"a"}), frozenset({"b"}))
    assert hash(caller) == hash(Caller(user="u", roles=frozenset({"a"}), may=frozenset({"b"})))
    assert codec.decode(codec.encode(caller), Caller) == caller


FACTS: dict[str, dict[str, Any]] = {
    "ProviderError": {"status": 529, "code": "overloaded", "message": "later {please}"},
    "ConnectionFailedError": {"reason": "no route"},
    "StoreError": {"reason": "disk {full}"},
    "RunNotFoundError": {"run": "run_1"},
    "ThreadBusyError": {"thread": "t", "run": "run_1"},
    "StartKeyError": {"key": "k", "run": "run_1"},
    "RunEndedError": {"run": "run_1", "status": "failed"},
    "StepFailedError": {"step": "pay", "error": "ValueError: no {amount}"},
    "DefinitionChangedError": {
        "run": "run_1",
        "seq": 3,
        "recorded": "step 'a'",
        "driven": "step 'b'",
    },
    "AnswerRefusedError": {"run": "run_1", "question": "ask", "problem": "a number is wanted."},
    "ToolBusyError": {"reason": "the vendor is at it"},
    "EffectError": {"reason": "it broke {it}"},
    "NotPausedError": {"run": "run_1", "status": "running"},
    "AlreadyDecidedError": {"run": "run_1", "call": "call_1", "by": "ann"},
    "EditRefusedError": {"call": "call_1", "tool": "refund", "problem": "no amount."},
    "UserIdError": {"kind": "User", "value": "ann@example.org"},
}
KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, RemitError)
]


def made(kind: type[RemitError]) -> RemitError:
    facts = FACTS.get(kind.__name__)
    return kind(**facts) if facts is not None else kind("a message with {braces}")


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_travels_between_processes(kind: type[RemitError]) -> None:
    error = made(kind)
    error.messages = [UserMessage(())]
    error.usage = Usage(input_tokens=1)

    for back in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(back) is kind
        assert str(back) == str(error)
        assert vars(back) == vars(error)
        assert back.usage == Usage(input_tokens=1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_s_message_holds_its_facts(kind: type[RemitError]) -> None:
    message = str(made(kind))

    assert message.strip()
    for value in FACTS.get(kind.__name__, {"message": "a message with {braces}"}).values():
        assert str(value) in message


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_says_in_a_sentence_what_it_is_for(kind: type[RemitError]) -> None:
    assert kind.__doc__


def test_no_net_for_errors_catches_a_run_that_is_let_go() -> None:
    assert not issubclass(LetGo, Exception)


def test_an_error_is_itself_alone() -> None:
    one, other = StoreError(reason="x"), StoreError(reason="x")

    assert one != other
    assert len({one, other}) == 2
