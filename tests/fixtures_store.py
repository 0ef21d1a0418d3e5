"""Fixtures that hand each test every store it is to hold for; loaded by `conftest.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remit.store.memory import MemoryStore
from remit.store.postgres import PostgresStore
from remit.store.protocol import Store
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.testing.store_contract import Handles
from remit.testing.store_contract.arrange import opened as opened
from tests.fixtures_postgres import fresh_place, shared_address


@contextmanager
def memory(_: Path, clock: ManualClock) -> Iterator[Handles]:
    shared = MemoryStore(clock)
    yield lambda: shared


@contextmanager
def sqlite(folder: Path, clock: ManualClock) -> Iterator[Handles]:
    yield lambda: SqliteStore(folder / "runs.db", clock)


@contextmanager
def postgres(_: Path, clock: ManualClock) -> Iterator[Handles]:
    with fresh_place(shared_address()) as place:
        yield lambda: PostgresStore(place.address, clock, schema=place.schema)


Kind = Callable[[Path, ManualClock], AbstractContextManager[Handles]]
KINDS = [
    pytest.param(memory, id="memory"),
    pytest.param(sqlite, id="sqlite"),
    pytest.param(postgres, id="postgres", marks=pytest.mark.slow),
]


def slowly(kind: Any) -> Any:
    """The kind, for tests that a faster one, or the store's own contract, stands for."""
    return pytest.param(*kind.values, id=kind.id, marks=pytest.mark.slow)


@pytest.fixture
def clock() -> ManualClock:
    """The time that all handles of a test share."""
    return ManualClock()


@pytest.fixture(params=[KINDS[0], *(slowly(kind) for kind in KINDS[1:])])
def handles(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock
) -> Iterator[Handles]:
    kind: Kind = request.param
    with kind(tmp_path, clock) as made:
        yield made


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
