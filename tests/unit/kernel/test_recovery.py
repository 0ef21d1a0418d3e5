"""Whether a claimed run can go on is decided by its facts and its deaths alone."""

from __future__ import annotations

import pytest

from remit.kernel.facts import AnyFact, Asked, Finished, Paused, Stepped, Unknown, decode
from remit.kernel.recovery import GiveUp, GoOn, decide
from remit.values import codec
from remit.values.identity import Caller

ASKED = Asked(at=1, input="?")
STEP = Stepped(at=2, name="one", value=1)


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_run_goes_on_after_fewer_deaths_than_the_limit(deaths: int) -> None:
    assert decide([ASKED], deaths, 3) == GoOn()
    assert decide([ASKED, STEP], deaths, 3) == GoOn()


@pytest.mark.parametrize("deaths", [3, 4])
def test_a_run_is_given_up_at_the_limit_of_deaths(deaths: int) -> None:
    found = decide([ASKED, STEP], deaths, 3)
    assert isinstance(found, GiveUp)
    assert f"died {deaths} times" in found.reason


@pytest.mark.parametrize("facts", [[], [STEP], [STEP, ASKED]])
def test_a_journal_must_begin_with_what_was_asked(facts: list[AnyFact]) -> None:
    assert isinstance(decide(facts, 0, 3), GiveUp)


def test_a_fact_that_cannot_be_read_is_not_driven_past() -> None:
    found = decide([ASKED, Unknown(b"{}"), STEP], 0, 3)
    assert isinstance(found, GiveUp)
    assert "cannot read" in found.reason


@pytest.mark.parametrize(
    "body",
    [
        b'{"t":"dreamt","at":1}',
        b'{"t":"step","at":1}',
        b'{"at":1}',
        b"[]",
        b'{"t":"step","at":"x"}',
    ],
)
def test_what_is_no_fact_of_this_format_is_kept_as_it_is(body: bytes) -> None:
    assert decode(body) == Unknown(body)


def test_a_field_of_a_later_version_does_not_make_a_fact_unknown() -> None:
    body = b'{"t":"step","at":2,"name":"one","value":1,"colour":"red"}'
    assert decode(body) == STEP


@pytest.mark.parametrize(
    "fact",
    [
        ASKED,
        Asked(at=1, input=[1, {"a": None}], user="u", tenant="t", thread="x", by=Caller(user="s")),
        Asked(at=1, input="nul \x00 and half \ud83d"),
        Stepped(at=2, name="one", value={"deep": ["\udcaf"]}, took=7),
        Paused(at=3, asks=()),
        Finished(at=4, status="failed", error="no\x00"),
        Finished(at=4, status="succeeded", finish="answer", output="done"),
    ],
)
def test_a_fact_is_the_same_after_it_was_stored(fact: AnyFact) -> None:
    assert decode(codec.encode(fact)) == fact
