"""What to do with a run that was claimed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from remit.kernel.facts import AnyFact, Asked, Unknown


class GoOn(msgspec.Struct, frozen=True):
    """The program is driven; the steps that are recorded, if any, answer from the journal."""


class GiveUp(msgspec.Struct, frozen=True):
    """The run fails for `reason`."""

    reason: str


def decide(facts: Sequence[AnyFact], deaths: int, limit: int) -> GoOn | GiveUp:
    """Whether the run can go on, from its facts and the deaths since the last of them."""
    if deaths >= limit:
        return GiveUp(f"its process died {deaths} times with nothing recorded in between")
    if not facts or not isinstance(facts[0], Asked):
        return GiveUp("its journal does not begin with what was asked")
    if any(isinstance(fact, Unknown) for fact in facts):
        return GiveUp("its journal holds facts that this version of remit cannot read")
    return GoOn()
