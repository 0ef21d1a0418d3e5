"""Every way in which a run stops has an exit status."""

from __future__ import annotations

from typing import get_args

import pytest

from remit.cli import status
from remit.values.results import Finish

LIMITS = {"turns", "tool_calls", "tokens", "seconds", "budget"}
FAILURES = {"stuck", "exhausted", "length", "refusal"}


@pytest.mark.parametrize("finish", sorted(FAILURES))
def test_a_run_that_came_to_nothing_is_a_failure(finish: Finish) -> None:
    assert status.of_run("failed", finish) == status.FAILED


@pytest.mark.parametrize("finish", sorted(LIMITS))
def test_a_limit_is_told_from_a_failure(finish: Finish) -> None:
    assert status.of_run("failed", finish) == status.LIMIT


def test_no_finish_is_left_out() -> None:
    assert set(get_args(Finish)) >= LIMITS | FAILURES | {"answer", "approval", "cancelled"}
