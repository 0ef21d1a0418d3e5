"""What a process's host is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remit.host.bus.memory import MemoryBus
from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Program
from remit.store.protocol import Store
from remit.values.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store, the programs that are driven here, and what they are driven with. `deploy` names
    the code that drives them: where it cannot drive a run, no process of the same code tries."""

    store: Store
    programs: Mapping[str, Program]
    bus: MemoryBus
    terms: LeaseTerms
    clock: Clock
    deploy: str = "unnamed"
