"""Every server's usage report has one shape, and none is negative or counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from remit.models.openai_chat.usage import read_usage
from remit.models.wire.counts import guess_usage
from remit.values.usage import Usage


def report(prompt: Any = 10000, completion: Any = 500, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


def used(input: int, output: int, **more: Any) -> Usage:
    return Usage(input_tokens=input, output_tokens=output, **more)


FAIR: dict[str, tuple[dict[str, Any], Usage]] = {
    "cached and reasoning tokens are parts": (
        report(
            prompt_tokens_details={"cached_tokens": 9000},
            completion_tokens_details={"reasoning_tokens": 300},
            total_tokens=10500,
        ),
        used(10000, 500, cache_read_tokens=9000, reasoning_tokens=300),
    ),
    "written to the cache": (
        report(4020, 4, prompt_tokens_details={"cached_tokens": 0, "cache_write_tokens": 4012}),
        used(4020, 4, cache_write_tokens=4012),
    ),
    "cached tokens in fields of the vendor's": (
        report(563, 116, prompt_cache_hit_tokens=512, prompt_cache_miss_tokens=51),
        used(563, 116, cache_read_tokens=512),
    ),
    "cached tokens beside the others": (
        report(563, 116, cached_tokens=512),
        used(563, 116, cache_read_tokens=512),
    ),
    "the names of another interface": (
        {"input_tokens": 7, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}},
        used(7, 3, reasoning_tokens=1),
    ),
    "reasoning beside the completion": (
        report(100, 20, total_tokens=150, completion_tokens_details={"reasoning_tokens": 30}),
        used(100, 50, reasoning_tokens=30),
    ),
    "a total instead of the completion": (report(100, None, total_tokens=130), used(100, 30)),
    "a total of zero is none": (report(100, 30, total_tokens=0), used(100, 30)),
    "nulls": (report(5, 6, prompt_tokens_details=None, completion_tokens_details=None), used(5, 6)),
    "whole numbers with a point": (report(5.0, 6.0), used(5, 6)),
    "more than anyone knows": (report(5, 6, cost=0.1, queue_time=0.5), used(5, 6)),
}

ODD: dict[str, tuple[dict[str, Any], Usage]] = {
    "more cached than sent": (
        report(10, 5, prompt_tokens_details={"cached_tokens": 99}),
        used(10, 5, cache_read_tokens=10),
    ),
    "more read and written than sent": (
        report(10, 5, prompt_tokens_details={"cached_tokens": 8, "cache_write_tokens": 8}),
        used(10, 5, cache_read_tokens=8, cache_write_tokens=2),
    ),
    "more reasoning than output": (
        report(43, 10, total_tokens=53, completion_tokens_details={"reasoning_tokens": 11}),
        used(43, 10, reasoning_tokens=10),
    ),
    "negative": (report(-5, 6), used(0, 6)),
    "negative parts": (report(5, 6, prompt_tokens_details={"cached_tokens": -1}), used(5, 6)),
    "endless": (report(float("inf"), 6), used(0, 6)),
    "no number": (report(float("nan"), 6), used(0, 6)),
    "a total that holds more": (report(100, 20, total_tokens=170), used(100, 70)),
    "a total that holds less": (report(100, 20, total_tokens=17), used(100, 20)),
}


@pytest.mark.parametrize(("given", "usage"), FAIR.values(), ids=FAIR.keys())
def test_a_report_is_read_to_the_token(given: dict[str, Any], usage: Usage) -> None:
    assert read_usage(given) == usage


@pytest.mark.parametrize(("given", "usage"), ODD.values(), ids=ODD.keys())
def test_a_report_that_contradicts_itself_is_clamped_and_marked(
    given: dict[str, Any], usage: Usage
) -> None:
    found = read_usage(given)

    assert found is not None
    assert found.estimated
    assert found + usage == used(
        2 * usage.input_tokens,
        2 * usage.output_tokens,
        cache_read_tokens=2 * usage.cache_read_tokens,
        cache_write_tokens=2 * usage.cache_write_tokens,
        reasoning_tokens=2 * usage.reasoning_tokens,
        estimated=True,
    )


@pytest.mark.parametrize(
    "nothing",
    [
        None,
        {},
        [],
        "12",
        7,
        {"prompt_tokens": None},
        {"prompt_tokens": "5"},
        {"prompt_tokens": True},
    ],
)
def test_what_says_nothing_is_no_report(nothing: object) -> None:
    assert read_usage(nothing) is None


def test_a_guess_is_rounded_up_and_marked() -> None:
    assert guess_usage(10, 1) == used(4, 1, estimated=True)
