"""Which code is deployed here."""

from __future__ import annotations

import hashlib

from remit.app.roster import Roster


def deployed(roster: Roster) -> str:
    """A digest of the programs that are driven here; the same in every process of the same code."""
    programs = sorted(key for key, _ in roster.programs)
    return hashlib.sha256("\n".join(programs).encode()).hexdigest()[:16]
