"""The stores that several processes can share, by their addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from tests.fixtures_postgres import fresh_database, shared_address

Addresses = Callable[[], str]
"""Gives the address of one more store, with nothing in it yet."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def addresses(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Addresses]:
    numbers = count(1)
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield lambda: f"sqlite:///{tmp_path}/runs-{next(numbers)}.db"
        else:
            yield lambda: stack.enter_context(fresh_database(shared_address()))


@pytest.fixture
def address(addresses: Addresses) -> str:
    """The address of the test's one store."""
    return addresses()
