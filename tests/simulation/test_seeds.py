"""The laws of host, kernel and agent hold in every simulated life."""

from __future__ import annotations

import asyncio
import os
import secrets
import time

import pytest

from remit.agent.loop import AgentProgram
from remit.kernel.difference import Difference
from remit.kernel.facts import AnyFact
from remit.kernel.replay import replay
from tests.simulation.history import History, Told
from tests.simulation.life import Life
from tests.simulation.lives import live, named, story
from tests.simulation.outside import agent

WHERE = "tests/simulation/test_seeds.py"
BLOCK = 60
ONCE_BROKEN = (31_038, 31_284, 31_587)
"""Lives in which calls in doubt stood beside agents at work."""
MET = {
    "a kill": "is killed",
    "a freeze": "freezes",
    "a machine that is cut off": "is cut off",
    "a machine that leaves": " leaves",
    "a takeover": "swept run",
    "a refused append": "was refused",
    "a refusal for news": "News(",
    "a lost answer": "is told: The store failed",
    "a cancel of a run at work": "Signalled",
    "a cancel of a run that waits": "Stopped",
    "a decision": "decided run",
    "a decision that came second": "was already decided by",
    "an effect": "has its effect",
    "an agent that works inside another": "/agent/turn:",
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", range(5))
def test_every_law_holds_in_every_life(block: int) -> None:
    live(range(block * BLOCK, (block + 1) * BLOCK), WHERE)


@pytest.mark.slow
def test_a_few_lives_meet_every_fault() -> None:
    lines = [line for history in live(range(1000, 1030), WHERE) for line in history.log]
    unmet = [what for what, sign in MET.items() if not any(sign in line for line in lines)]
    assert not unmet


@pytest.mark.slow
def test_whatever_befell_a_run_its_record_replays() -> None:
    replayed = 0
    for seed in [*range(2000, 2040), *ONCE_BROKEN]:
        life = Life(seed)
        history, driven = life.live(), agent(life.outside)
        assert not history.broken, (seed, history.broken)
        program = AgentProgram(driven.plan(driven.granted))
        for told in history.runs.values():
            difference = asyncio.run(_replayed(program, history, told))
            assert difference is None, (seed, told.id, difference)
            replayed += 1
    assert replayed >= 80


async def _replayed(program: AgentProgram, history: History, told: Told) -> Difference | None:
    before = [] if told.thread is None else history.ended[told.thread]

    async def lineage() -> list[list[AnyFact]]:
        earlier = before[: before.index(told.id)] if told.id in before else before
        return [history.runs[run].facts for run in earlier]

    return await replay(program, list(enumerate(told.facts, 1)), run=told.id, lineage=lineage)


def test_a_seed_has_one_life() -> None:
    """Whatever the addresses of things and the hashes of words are in this process."""
    first, again = (Life(7).live() for _ in range(2))
    assert first.log == again.log
    assert len(first.log) > 20


def test_a_broken_law_names_its_seed() -> None:
    history = History(lambda: 1.0)
    history.require(False, "a law", "about")
    told = story(123, history, WHERE)
    assert "a law: 'about'" in told
    assert told.endswith(f"REMIT_SEED=123 make chaos TEST={WHERE}")


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_every_law_holds_in_lives_without_number() -> None:
    """For `REMIT_SECONDS`, from a random seed on; or in the one life that `REMIT_SEED` names."""
    seed = named()
    if seed is not None:
        live([seed], WHERE)
        return
    seed, lived = secrets.randbelow(10**9), 0
    end = time.monotonic() + float(os.environ.get("REMIT_SECONDS", "120"))
    while time.monotonic() < end:
        live([seed + lived], WHERE)
        lived += 1
    assert lived > 0
