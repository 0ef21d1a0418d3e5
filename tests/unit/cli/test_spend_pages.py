"""The page of `remit spend`: sums in order, bars in proportion, and nothing cut or obeyed."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from remit.app.spending import Group
from remit.cli.render import plain, terminal
from remit.cli.spend.asked import Asked, last_days
from remit.cli.spend.listing import bars, ordered, page
from remit.values.exact import from_nano
from remit.values.spent import Spent

NANOS = st.lists(st.integers(min_value=0, max_value=2**80), min_size=1)
ODD = "m:\x1b[2J\x9b\u202e\n two\tlines\ud800"


def spent(nano: int, *, estimated: int = 0, calls: int = 1, **by: str | None) -> Spent:
    return Spent(by=by, cost=from_nano(nano), estimated=from_nano(estimated), calls=calls)


def told(groups: tuple[Group, ...], *sums: Spent) -> list[str]:
    return list(plain.lines(page(groups, sums)))


def on_a_terminal(width: int, groups: tuple[Group, ...], *sums: Spent) -> str:
    out = io.StringIO()
    terminal.show(Console(file=out, width=width), page(groups, sums))
    return out.getvalue()


@given(NANOS)
def test_bars_are_in_proportion_and_what_cost_anything_has_one(nanos: list[int]) -> None:
    dearest = max(nanos)
    for nano, bar in zip(nanos, bars([spent(nano) for nano in nanos]), strict=True):
        assert (bar == "") == (nano == 0)
        assert 0 <= len(bar) * dearest - 20 * nano <= dearest
        assert len(bar) == 20 or nano < dearest or not nano


@given(NANOS)
def test_the_whole_sum_is_exact(nanos: list[int]) -> None:
    sums = [spent(nano, estimated=nano // 2, user=f"u_{n}") for n, nano in enumerate(nanos)]

    *_, last = (line for line in told(("user",), *sums) if line.startswith("whole sum"))

    _, _, cost, estimated, calls = last.split()
    assert "E" not in cost + estimated
    assert spent(sum(nanos)).cost == type(sums[0].cost)(cost)
    assert spent(sum(nano // 2 for nano in nanos)).cost == type(sums[0].cost)(estimated)
    assert int(calls) == len(nanos)


def test_the_dearest_come_first_and_equals_as_the_ledger_has_them() -> None:
    sums = [spent(nano, user=user) for user, nano in (("a", 1), ("b", 3), ("c", 1), ("d", 2))]

    assert [each.by["user"] for each in ordered(sums)] == ["b", "d", "a", "c"]


def test_days_alone_go_by_time_and_beside_other_groups_by_cost() -> None:
    days = [spent(1, day="2026-01-02"), spent(2, day="2026-01-01"), spent(9, day="2025-12-31")]
    both = [spent(1, day="2026-01-01", user="a"), spent(2, day="2026-01-02", user="a")]

    assert [each.by["day"] for each in ordered(days)] == ["2025-12-31", "2026-01-01", "2026-01-02"]
    assert [each.by["day"] for each in ordered(both)] == ["2026-01-02", "2026-01-01"]


def test_a_model_s_name_neither_steers_the_terminal_nor_breaks_the_table() -> None:
    long = "openai:" + "a" * 200
    sums = [spent(25 * 10**8, model=ODD), spent(1, model=long), spent(1, model=None)]

    title, odd, cut, none, whole = told(("model",), *sums)

    assert odd.startswith("m:\\x1b[2J\\x9b\\u202e two lines\\ud800 ")
    assert cut.startswith(long[:63] + "… ")
    assert none.startswith("-  ")
    assert len({len(line) for line in (title, odd, cut, none, whole)}) == 1


def test_calls_that_cost_nothing_are_counted_and_explained() -> None:
    assert told(("day",), spent(0, day="2026-01-01", calls=3)) == [
        "day         cost  estimated  calls",
        "2026-01-01     0          0      3",
        "whole sum      0          0      3",
        "Calls of models whose rates are not declared cost nothing.",
    ]


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80])
def test_a_narrow_terminal_cuts_no_money_and_no_id(width: int) -> None:
    run = "run_06h2tcismc2nfhu962v4s8uqpo"
    row = spent(
        123_456_123_456_789, estimated=1, calls=12_345, run=run, user="u_1", model="openai:gpt-5.1"
    )

    said = on_a_terminal(width, ("run", "user", "model"), row)

    for words in (run, "123456.123456789", "0.000000001", "12345", "whole sum"):
        assert words in said
    assert "model" in said


@pytest.mark.parametrize(
    ("days", "begins"),
    [(1, "2026-01-03"), (2, "2026-01-02"), (4, "2025-12-31"), (10**30, "1970-01-01")],
)
def test_the_last_days_begin_at_midnight_and_today_is_one(days: int, begins: str) -> None:
    for now in ("2026-01-03T00:00:00Z", "2026-01-03T23:59:59.999Z"):
        begin = last_days(days, datetime.fromisoformat(now).timestamp())
        assert begin == datetime.fromisoformat(f"{begins}T00:00Z")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
        ("2026-01-02T03:04Z", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
        ("2026-01-02 03:04:05.5+02:00", datetime(2026, 1, 2, 1, 4, 5, 500_000, tzinfo=UTC)),
    ],
)
def test_a_day_is_its_midnight_utc_and_a_time_is_its_zone_s(text: str, when: datetime) -> None:
    options: Any = Asked(since=text).options(0)

    assert options["since"] == when
    assert options["since"].utcoffset() is not None
