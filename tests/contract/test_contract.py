"""The contract on the three stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.testing.clock import ManualClock
from remit.testing.store_contract import Handles, StoreContract, StoreFixtures
from remit.testing.store_contract.order.laws import OrderLaws
from tests.fixtures_store import KINDS, Kind, slowly


class OnEachStore(StoreFixtures):
    """Gives each of the stores."""

    @pytest.fixture(params=[KINDS[0], *(slowly(kind) for kind in KINDS[1:])])
    def handles(
        self, request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock
    ) -> Iterator[Handles]:
        kind: Kind = request.param
        with kind(tmp_path, clock) as made:
            yield made


class TestStores(OnEachStore, StoreContract):
    """Every law, on every store."""


@pytest.mark.chaos
@pytest.mark.timeout(1200)
class TestStoresAtLength(OnEachStore, OrderLaws):
    """Many and long orders of calls."""

    examples = 150
    steps = 80
