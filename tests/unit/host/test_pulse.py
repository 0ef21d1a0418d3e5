"""When the thread that keeps a stuck loop's lease steps in, and when it gives up."""

from __future__ import annotations

import time
from datetime import timedelta

from remit.host.pulse import Pulse
from remit.kernel.lease import LeaseTerms


class NoHeart:
    def beat(self, worker: str, lasts: float) -> bool:
        raise AssertionError("no beat is wanted")

    def close(self) -> None:
        """There is nothing to close."""


async def test_the_thread_steps_in_when_the_loop_is_stuck_and_gives_up_after_ten_leases() -> None:
    terms = LeaseTerms(lasts=timedelta(seconds=20), renew_every=timedelta(seconds=5))
    pulse = Pulse(NoHeart(), terms, lambda heart: None, lambda: 60.0)
    began = time.monotonic()
    pulse.felt()
    wanted = {after: pulse.wanted(began + after) for after in (1, 7, 8, 60, 199, 201, 1000)}
    await pulse.stop()
    assert wanted == {1: False, 7: False, 8: True, 60: True, 199: True, 201: False, 1000: False}


async def test_the_thread_waits_as_long_as_what_runs_may_take() -> None:
    terms, longest = LeaseTerms(), [600.0]
    pulse = Pulse(NoHeart(), terms, lambda heart: None, lambda: max(longest))
    began = time.monotonic()
    pulse.felt()
    wanted = {after: pulse.wanted(began + after) for after in (201, 599, 601)}
    longest.append(700.0)
    later = pulse.wanted(began + 601)
    await pulse.stop()
    assert (wanted, later) == ({201: True, 599: True, 601: False}, True)
