"""Anthropic's reports of usage in one shape, to the token."""

from __future__ import annotations

from typing import Any

import pytest

from remit.models.anthropic.usage import Tally
from remit.values.usage import Usage


def told(*reports: object) -> Usage | None:
    tally = Tally()
    found = None
    for report in reports:
        found = tally.take(report) or found
    return found


CACHED = {
    "input_tokens": 7,
    "cache_read_input_tokens": 9_000,
    "cache_creation_input_tokens": 1_000,
    "output_tokens": 500,
}


def test_what_the_cache_gave_and_took_is_part_of_the_input() -> None:
    assert told(CACHED) == Usage(
        input_tokens=10_007, cache_read_tokens=9_000, cache_write_tokens=1_000, output_tokens=500
    )


def test_thinking_is_part_of_the_output() -> None:
    found = told({"output_tokens": 44, "output_tokens_details": {"thinking_tokens": 33}})

    assert found == Usage(output_tokens=44, reasoning_tokens=33)


def test_reports_are_cumulative() -> None:
    found = told(
        {"input_tokens": 702, "cache_read_input_tokens": 4, "output_tokens": 1},
        {"output_tokens": 20},
        {"input_tokens": 1_591, "output_tokens": 175},
    )

    assert found == Usage(input_tokens=1_595, cache_read_tokens=4, output_tokens=175)


def test_a_count_that_a_later_report_leaves_empty_stays() -> None:
    found = told(CACHED, {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": None})

    assert found == told(CACHED)


def test_writes_may_be_told_by_how_long_they_are_kept() -> None:
    found = told(
        {
            "input_tokens": 2,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 90},
        }
    )

    assert found is not None
    assert (found.input_tokens, found.cache_write_tokens) == (102, 100)


ODD: list[tuple[tuple[Any, ...], tuple[int, int, int]]] = [
    (({"input_tokens": -5, "output_tokens": 2},), (0, 2, 0)),
    (({"input_tokens": 5, "output_tokens": float("nan")},), (5, 0, 0)),
    (({"input_tokens": 9}, {"input_tokens": 5}), (9, 0, 0)),
    (({"output_tokens": 3, "output_tokens_details": {"thinking_tokens": 9}},), (0, 3, 3)),
]


@pytest.mark.parametrize(("reports", "expected"), ODD)
def test_an_inconsistent_report_is_clamped_and_flagged(
    reports: tuple[Any, ...], expected: tuple[int, int, int]
) -> None:
    found = told(*reports)

    assert found is not None
    assert found.estimated
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == expected


@pytest.mark.parametrize(
    "report", [None, {}, [], "many", {"input_tokens": None}, {"input_tokens": True}]
)
def test_a_report_that_says_nothing_is_none(report: object) -> None:
    assert told(report) is None
