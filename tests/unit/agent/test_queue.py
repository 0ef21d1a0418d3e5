"""Calls run side by side, but for those that run alone."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from remit.agent.toolbox import groups


def test_calls_that_share_are_one_group() -> None:
    assert groups([("a", False), ("b", False)]) == [["a", "b"]]


def test_a_call_that_runs_alone_parts_those_before_it_from_those_after() -> None:
    calls = [("a", False), ("b", True), ("c", True), ("d", False), ("e", False)]
    assert groups(calls) == [["a"], ["b"], ["c"], ["d", "e"]]


def test_no_calls_are_no_group() -> None:
    assert groups([]) == []


@given(st.lists(st.booleans(), max_size=20))
def test_no_call_is_lost_or_moved_and_none_beside_one_that_runs_alone(marks: list[bool]) -> None:
    found = groups(enumerate(marks))
    assert [call for group in found for call in group] == list(range(len(marks)))
    assert all(len(group) == 1 for group in found for call in group if marks[call])
    pairs = pairwise(found)
    assert all(marks[before[-1]] or marks[after[0]] for before, after in pairs)
