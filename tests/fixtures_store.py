"""Fixtures that hand each test every store it is to hold for; loaded by `conftest.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock

Handles = Callable[[], Store]
"""Gives one more handle on the same runs, not yet opened, as another process would have it."""


def memory(_: Path, clock: ManualClock) -> Handles:
    shared = MemoryStore(clock)
    return lambda: shared


def sqlite(folder: Path, clock: ManualClock) -> Handles:
    return lambda: SqliteStore(folder / "runs.db", clock)


KINDS = [memory, sqlite]


@pytest.fixture
def clock() -> ManualClock:
    """The time that all handles of a test share."""
    return ManualClock()


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def handles(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Handles:
    made: Handles = request.param(tmp_path, clock)
    return made


@asynccontextmanager
async def opened(store: Store) -> AsyncIterator[Store]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store(handles: Handles) -> AsyncIterator[Store]:
    """A store that is open."""
    async with opened(handles()) as store:
        yield store


@pytest.fixture
async def other_store(handles: Handles) -> AsyncIterator[Store]:
    """A second handle on the runs of `store`, open."""
    async with opened(handles()) as store:
        yield store
