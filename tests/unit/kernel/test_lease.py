"""A lease's terms check themselves, and a lease ends at its deadline."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from datetime import timedelta
from itertools import count
from types import FrameType
from typing import Any

import pytest

from remit import LeaseTerms
from remit.errors import ConfigError, RemitError
from remit.kernel.lease import Lease, LeaseLost
from remit.testing.clock import ManualClock

SECOND = timedelta(seconds=1)
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"lasts": timedelta(0)}, "lasts"),
    ({"renew_every": -SECOND}, "renew_every"),
    ({"sweep_every": timedelta(0)}, "sweep_every"),
    ({"grace": -SECOND}, "grace"),
    ({"lasts": SECOND, "renew_every": SECOND * 0.51}, "half"),
    ({"lasts": 9 * SECOND}, "half"),
    ({"max_deaths": 0}, "max_deaths"),
    ({"max_deaths": True}, "max_deaths"),
    ({"max_deaths": 2.5}, "max_deaths"),
    ({"lasts": 20}, "lasts"),
    ({"grace": None}, "grace"),
]


@pytest.mark.parametrize(("options", "names"), WRONG, ids=[str(options) for options, _ in WRONG])
def test_wrong_terms_are_refused(options: dict[str, Any], names: str) -> None:
    with pytest.raises(ConfigError, match=names):
        LeaseTerms(**options)


def test_a_lease_is_renewed_half_way_at_the_latest() -> None:
    terms = LeaseTerms(lasts=SECOND, renew_every=SECOND / 2, grace=timedelta(0))
    assert terms.renew_every * 2 == terms.lasts


def test_the_usual_terms() -> None:
    terms = LeaseTerms()
    assert (terms.lasts, terms.renew_every) == (20 * SECOND, 5 * SECOND)
    assert (terms.sweep_every, terms.grace, terms.max_deaths) == (5 * SECOND, 5 * SECOND, 3)


def test_a_lease_ends_at_its_deadline_and_not_before(clock: ManualClock) -> None:
    lease = Lease(clock, clock.steady() + 20)
    clock.advance(19.999)
    lease.check()
    clock.advance(0.001)
    with pytest.raises(LeaseLost):
        lease.check()


def test_a_renewed_lease_goes_on_and_a_lost_one_does_not(clock: ManualClock) -> None:
    lease = Lease(clock, clock.steady() + 20)
    lease.renew(clock.steady() + 40)
    clock.advance(30)
    lease.check()
    lease.lose()
    with pytest.raises(LeaseLost):
        lease.check()


def test_a_lease_that_is_lost_while_a_thread_renews_it_stays_lost(clock: ManualClock) -> None:
    """Whatever line of the renewal the thread has come to."""
    line = 0
    while (lost := _is_lost(clock, before=line)) is not None:
        assert lost
        line += 1
    assert line


def _is_lost(clock: ManualClock, before: int) -> bool | None:
    """Whether a lease is lost after it was, right before a line of its renewal by a thread; None
    where the renewal has no such line."""
    lease, passed = Lease(clock, clock.steady() + 20), count()
    reached = False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal reached
        if frame.f_code is not Lease.renew.__code__:
            return None
        if event == "line" and next(passed) == before:
            reached = True
            lease.lose()
        return trace

    def renew() -> None:
        sys.settrace(trace)
        lease.renew(clock.steady() + 40)

    thread = threading.Thread(target=renew)
    thread.start()
    thread.join()
    if not reached:
        return None
    with suppress(LeaseLost):
        lease.check()
        return False
    return lease.deadline <= clock.steady()


def test_no_handler_of_errors_swallows_a_lost_lease() -> None:
    assert not issubclass(LeaseLost, Exception)
    assert not issubclass(LeaseLost, RemitError)
