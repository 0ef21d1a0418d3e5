"""Living many seeds, and what is said of one that broke a law."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from remit.store.memory import MemoryStore
from tests.simulation.history import History
from tests.simulation.life import Life, MakeStore

TOLD = 80


def named() -> int | None:
    """The seed that `REMIT_SEED` names."""
    seed = os.environ.get("REMIT_SEED")
    return None if seed is None else int(seed)


def live(seeds: Iterable[int], where: str) -> list[History]:
    """What happened in the life of each seed; fails at the first one that broke a law."""
    histories = []
    for seed in seeds:
        history = Life(seed).live()
        if history.broken:
            pytest.fail(story(seed, history, where), pytrace=False)
        histories.append(history)
    return histories


def story(seed: int, history: History, where: str) -> str:
    """What broke, what happened before it, and how to see it again."""
    return "\n".join(
        [
            f"seed {seed} broke {len(history.broken)} laws:",
            *history.broken[:10],
            "",
            *history.log[-TOLD:],
            "",
            f"To run it again: REMIT_SEED={seed} make chaos TEST={where}",
        ]
    )


def first_broken(seeds: Iterable[int], make: MakeStore = MemoryStore) -> History | None:
    """The first history that broke a law."""
    for seed in seeds:
        history = Life(seed, make).live()
        if history.broken:
            return history
    return None
