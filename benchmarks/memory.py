"""What a run costs when nothing is kept."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

from benchmarks import desk, floor
from benchmarks.measure import compare
from remit import Agent

Report = Callable[[str, str, str], None]
STEPS = 10


async def run(report: Report) -> None:
    """Report an answer, steps, their growth and function calls."""
    answer = desk.agent(0)
    one = await compare(lambda: answer.run("go"), lambda: floor.bare(floor.scripted(0)))
    report("one answer, in memory", f"{one.subject:.0f} µs", "under 100 µs")
    costs = {}
    for steps in (STEPS, 200):
        agent, model = desk.agent(steps - 1), floor.scripted(steps - 1)
        found = await compare(lambda a=agent: a.run("go"), lambda m=model: floor.bare(m))  # type: ignore[misc]  # bound at once
        costs[steps] = found.subject / steps
        report(
            f"a step with one tool, in memory, of {steps}",
            f"{found.subject / steps:.0f} µs, {found.ratio:.1f} × the bare loop"
            f" ({found.spread[0]:.1f} to {found.spread[1]:.1f})",
            "under 10 ×",
        )
    report("a step of 200 against a step of 10", f"{costs[200] / costs[STEPS]:.2f} ×", "flat")
    calls = await _calls(desk.agent(STEPS - 1)) / STEPS
    report("function calls a step", f"{calls:.0f}", "under 300")


async def _calls(agent: Agent[None, str]) -> int:
    await agent.run("go")
    profile = cProfile.Profile()
    profile.enable()
    await agent.run("go")
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]  # untyped
