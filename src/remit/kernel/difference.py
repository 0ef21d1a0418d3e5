"""Where code and record part."""

from __future__ import annotations

import msgspec

from remit.kernel.facts import Stepped
from remit.kernel.interrupt import Unfit
from remit.kernel.script import Item
from remit.values.errors import DefinitionChangedError


class Difference(msgspec.Struct, frozen=True):
    """The first place where a record and the code that is driven over it part: at entry `seq`
    `recorded` is in the journal, and the code came to `driven`."""

    seq: int
    recorded: str
    driven: str


class Changed(Unfit):
    """The code of this process parts from the record; the run waits for code that fits."""

    def __init__(self, run: str, difference: Difference) -> None:
        self.difference = difference
        self.error = DefinitionChangedError(
            run=run,
            seq=difference.seq,
            recorded=difference.recorded,
            driven=difference.driven,
        )
        super().__init__(
            f"at entry {difference.seq} {difference.recorded} is recorded, and this code comes to"
            f" {difference.driven}"
        )


def told(name: str, digest: str | None = None) -> str:
    """A step, as people read of it in a difference."""
    return f"{name} given {digest}" if digest else name


def told_item(item: Item) -> str:
    """A record, as people read of it in a difference."""
    what = item.what
    return told(item.name, what.digest if isinstance(what, Stepped) else None)
