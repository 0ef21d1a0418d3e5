"""The simulation finds what it is there for: each rule that is taken out is missed."""

from __future__ import annotations

import pytest

from remit.store.memory import MemoryStore
from tests.simulation.broken import RULES, STORES, without
from tests.simulation.lives import first_broken

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = range(66, 1_500)


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.__name__)
def test_a_store_without_one_of_its_rules_is_found(store: type[MemoryStore]) -> None:
    assert first_broken(SEEDS, store) is not None


@pytest.mark.parametrize("rule", RULES)
def test_a_host_without_one_of_its_rules_is_found(rule: str) -> None:
    with without(rule):
        assert first_broken(SEEDS) is not None
