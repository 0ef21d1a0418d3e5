"""What is left of a run's time, inside that of its callers."""

from __future__ import annotations

import asyncio
import math

import pytest

from remit.agent.inside import Time


async def _until(limit: asyncio.Timeout) -> None:
    async with limit:
        await asyncio.Event().wait()


async def test_time_without_a_bound_has_no_end() -> None:
    time = Time(None)
    inner = Time(None, time)
    assert (time.ends, inner.ends, inner.expired()) == (None, None, False)
    inner.extend(5)
    assert inner.left() == math.inf


async def test_time_ends_where_its_callers_does() -> None:
    outer = Time(0.01)
    inner = Time(None, outer)
    assert inner.ends is inner
    assert outer.limit is not None
    assert not inner.expired()
    with pytest.raises(TimeoutError):
        await _until(outer.limit)
    assert inner.expired()
    assert outer.expired()


async def test_its_own_end_is_not_its_callers() -> None:
    outer, loop = Time(60), asyncio.get_running_loop()
    inner = Time(0.01, outer)
    assert outer.limit is not None
    assert inner.limit is not None
    async with outer.limit:
        assert inner.left() <= 0.01 < outer.left() <= 60
        with pytest.raises(TimeoutError):
            await _until(inner.limit)
        assert (inner.expired(), outer.expired()) == (True, False)
        assert loop.time() < (outer.limit.when() or 0)


async def test_a_wait_moves_every_end_and_waits_side_by_side_count_once() -> None:
    outer = Time(60)
    inner = Time(30, outer)
    assert outer.limit is not None
    assert inner.limit is not None
    async with outer.limit, inner.limit:
        ends = [limit.when() or 0.0 for limit in (outer.limit, inner.limit)]
        for seconds in (3, 5, 2, 5):
            inner.extend(seconds)
        moved = [limit.when() or 0.0 for limit in (outer.limit, inner.limit)]
        assert [after - before for before, after in zip(ends, moved, strict=True)] == (
            pytest.approx([5, 5])
        )
