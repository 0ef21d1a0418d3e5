"""What a process's host is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from remit.host.bus.memory import MemoryBus
from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Program
from remit.store.protocol import Store
from remit.values.clock import Clock


def _unlimited() -> float:
    """Nothing that runs has a timeout."""
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store, the programs that are driven here, and what they are driven with. `deploy` names
    the code that drives them: where it cannot drive a run, no process of the same code tries.
    `longest` tells the longest timeout of what the programs run at the moment, in seconds, from
    any thread."""

    store: Store
    programs: Mapping[str, Program]
    bus: MemoryBus
    terms: LeaseTerms
    clock: Clock
    deploy: str = "unnamed"
    longest: Callable[[], float] = _unlimited
