"""The contract on each broken store, and on the one that is not; run by `test_kit`."""

from __future__ import annotations

import os

import pytest

from remit.store.memory import MemoryStore
from remit.testing.clock import ManualClock
from remit.testing.store_contract import Handles, StoreContract
from tests.contract import broken_stores


def contract_on(kind: type[MemoryStore]) -> type[StoreContract]:
    """What fails in it shows what is broken."""

    class OnBrokenStore(StoreContract):
        examples = int(os.environ["REMIT_KIT_EXAMPLES"])

        @pytest.fixture
        def handles(self, clock: ManualClock) -> Handles:
            store = kind(clock)
            return lambda: store

    return OnBrokenStore


for name in os.environ["REMIT_KIT_STORES"].split():
    globals()[f"Test{name}"] = contract_on(getattr(broken_stores, name))
