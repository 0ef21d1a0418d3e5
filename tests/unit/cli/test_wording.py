"""Words, pages and statuses: safe to print, and the same every time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.cli import invocation, status
from remit.cli.render import plain
from remit.cli.render.page import Block, Cell, Column, Fields, Heading, Line, Listing
from remit.cli.render.wording import arguments, count, level, moment, money, one_line, shown
from remit.values.exact import from_nano


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain, é, 漢 and 👩\u200d🚒", "plain, é, 漢 and 👩\u200d🚒"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J", "\\x9b2J"),
        ("\r\x00\x7f", "\\x0d\\x00\\x7f"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("\u200b\ufeff\u2028", "\\u200b\\ufeff\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_by_its_escape(text: str, seen: str) -> None:
    assert shown(text) == seen


def test_a_line_is_one_line_and_not_longer_than_told() -> None:
    assert one_line("a\n b\t\tc") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_arguments_read_like_a_call() -> None:
    given = {"order": "A-1\u202e", "amount": 2.5, "lines": ["é", None]}

    assert arguments(given) == 'order="A-1\\u202e", amount=2.5, lines=["é", null]'


def test_numbers_and_times_read_the_same_everywhere() -> None:
    east = timezone(timedelta(hours=2))

    assert money(Decimal("0E-9")) == "0.000000000"
    assert money(Decimal("1.5E+2")) == "150"
    assert money(None) == "-"
    assert moment(datetime(2026, 1, 31, 14, 0, tzinfo=east)) == "2026-01-31T12:00:00Z"
    assert moment(None) == "-"
    assert (count(1, "call"), count(2, "call")) == ("1 call", "2 calls")
    assert (count(1, "entry", "entries"), count(0, "entry", "entries")) == ("1 entry", "0 entries")


@given(st.lists(st.integers(min_value=0, max_value=2**80), min_size=1))
def test_costs_in_a_column_keep_every_digit_and_their_points_line_up(nanos: list[int]) -> None:
    costs = [from_nano(nano) for nano in nanos]

    told = level(costs)

    assert [Fraction(text) * 10**9 for text in told] == nanos
    assert all(set(text) <= set("0123456789.") for text in told)
    behind = {len(text.partition(".")[2]) for text in told}
    assert behind == {max(max(-int(cost.as_tuple().exponent), 0) for cost in costs)}


def test_a_column_without_fractions_has_no_points() -> None:
    assert level([Decimal("1.5E+2"), Decimal(0)]) == ["150", "0"]
    assert level([]) == []


def test_a_plain_page_has_no_ornaments() -> None:
    page: list[Block] = [
        Heading("One"),
        Fields([("a", Cell("1", "good")), ("long", Cell("two\nlines"))]),
        Heading("Two"),
        Listing(
            [Column("name", 6), Column("sum", 5, right=True)], [[Cell("x"), Cell("12", "bad")]]
        ),
        Line("a\nb", indent=1),
    ]

    assert list(plain.lines(page)) == [
        "One",
        "a     1",
        "long  two",
        "      lines",
        "",
        "Two",
        "name      sum",
        "x          12",
        "  a",
        "  b",
    ]


@pytest.mark.parametrize(
    ("state", "finish", "code"),
    [
        ("succeeded", "answer", 0),
        ("queued", None, 0),
        ("running", None, 0),
        ("paused", "approval", 3),
        ("failed", "turns", 4),
        ("failed", "budget", 4),
        ("failed", "tokens", 4),
        ("failed", "tool_calls", 4),
        ("failed", "seconds", 4),
        ("failed", "length", 1),
        ("failed", "refusal", 1),
        ("failed", "exhausted", 1),
        ("failed", None, 1),
        ("cancelled", "cancelled", 1),
    ],
)
def test_a_runs_state_has_its_exit_status(state: str, finish: str, code: int) -> None:
    assert status.of_run(state, finish) == code  # type: ignore[arg-type]  # literals in a table


def test_a_line_to_type_is_quoted_and_names_the_store_if_it_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REMIT_STORE", raising=False)

    far = invocation.line("runs", "show", "run 1", store="sqlite:////a b/x.db")
    near = invocation.line("runs", "list", store="sqlite:///remit.db")

    assert far.endswith("runs show 'run 1' --store 'sqlite:////a b/x.db'")
    assert near.endswith("runs list")
