"""How long a model that failed is left alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.models.retry import Retry
from remit.values.errors import ConfigError

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no attempt": ({"attempts": 0}, "from 1, which asks once"),
    "half an attempt": ({"attempts": 1.5}, "whole number"),
    "attempts that are a truth": ({"attempts": True}, "whole number"),
    "attempts without end": ({"attempts": 10_000}, "to 100"),
    "a wait below 0": ({"first": -1}, "at least 0"),
    "a wait that is none": ({"first": math.nan}, "number of seconds"),
    "a wait without end": ({"most": math.inf}, "number of seconds"),
    "a wait that is text": ({"most": "60"}, "number of seconds"),
    "a first above the most": ({"first": 90}, "most= that is not below first="),
    "a jitter above 1": ({"jitter": 1.5}, "share from 0 to 1"),
    "a jitter below 0": ({"jitter": -0.1}, "share from 0 to 1"),
}


@pytest.mark.parametrize(("options", "mend"), WRONG.values(), ids=WRONG)
def test_numbers_that_make_no_sense_are_refused_with_the_mend(
    options: dict[str, Any], mend: str
) -> None:
    with pytest.raises(ConfigError, match=mend):
        Retry(**options)


def test_waits_double_up_to_the_most_and_end_with_the_attempts() -> None:
    retry = Retry(attempts=6, first=1, most=5, jitter=0)

    assert [retry.wait(failed, None, 0.9) for failed in range(1, 7)] == [1, 2, 4, 5, 5, None]


def test_one_attempt_is_never_made_again() -> None:
    assert Retry(attempts=1).wait(1, None, 0.0) is None
    assert Retry(attempts=1).wait(1, 0.0, 0.0) is None


@given(st.integers(1, 100), st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_jitter_takes_off_no_more_than_its_share(failed: int, luck: float, jitter: float) -> None:
    whole = Retry(attempts=100, jitter=0).wait(failed, None, 0.0)
    wait = Retry(attempts=100, jitter=jitter).wait(failed, None, luck)

    if whole is None or wait is None:
        assert whole is wait is None
    else:
        assert whole * (1 - jitter) <= wait <= whole


@given(st.integers(1, 3), st.floats(0, 60), st.floats(0, 1, exclude_max=True))
def test_nobody_comes_back_before_a_provider_wants_to_see_him(
    failed: int, after: float, luck: float
) -> None:
    wait = Retry().wait(failed, after, luck)

    assert wait is not None
    assert after <= wait <= max(after, 60) + 1


def test_for_longer_than_the_most_nobody_waits() -> None:
    assert Retry(most=60).wait(1, 61.0, 0.0) is None
    assert Retry(most=61).wait(1, 61.0, 0.0) == 61.0
