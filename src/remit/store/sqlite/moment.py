"""One instant in the times that the store writes down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from remit.values.clock import Clock


@dataclass(frozen=True, slots=True)
class Moment:
    """Microseconds: `wall` since 1970, `steady` since the boot that `boot` names."""

    wall: int
    steady: int
    boot: str

    def marks(self) -> dict[str, int | str]:
        """The instant as the statements' parameters."""
        return {"wall": self.wall, "steady": self.steady, "boot": self.boot}


def moment(clock: Clock) -> Moment:
    """The instant it is by `clock`."""
    return Moment(round(clock.wall() * 1e6), round(clock.steady() * 1e6), boot_id())


@cache
def boot_id() -> str:
    """What names this run of the machine; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
