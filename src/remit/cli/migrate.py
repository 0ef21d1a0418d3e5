"""`remit migrate`: brings a store's schema up to date, or tells whether that is due."""

from __future__ import annotations

from remit.cli import address, status
from remit.cli.render import output
from remit.cli.render.page import Line
from remit.store.connect import connect, upkeep
from remit.store.migrations import Versions
from remit.store.upkeep import Upkeep
from remit.values.clock import SystemClock
from remit.values.errors import ConfigError


async def migrate(store: str | None, *, check: bool, json: bool) -> int:
    """Migrate the store at an address, that of the surroundings unless told; it is made where it is
    missing. With `check` nothing is changed, and the status is FAILED if a migration is due.

    Raises ConfigError for a store without a schema, StoreError where that cannot be.
    """
    kept = kept_at(address.told(store))
    found = await (kept.versions() if check else kept.migrate())
    due = check and found.due
    answer = {
        "kind": "migrate",
        "from": found.at,
        "to": found.newest,
        "due": due,
        "done": found.due and not check,
    }
    output.show([_told(found, check=check)], [answer], json=json)
    return status.FAILED if due else status.OK


def kept_at(place: str) -> Upkeep:
    """What looks after the store at the address `place`. Raises ConfigError where nothing does."""
    found = upkeep(connect(place, SystemClock()))
    if found is None:
        raise ConfigError(
            "a store in memory ends with its process, and has nothing to look after: give an"
            " address like sqlite:///file.db"
        )
    return found


def _told(found: Versions, *, check: bool) -> Line:
    if not found.due:
        return Line(f"Schema {found.at} is the newest: nothing to do.", "good")
    if check:
        return Line(f"A migration from schema {found.at} to {found.newest} is due.", "waiting")
    return Line(f"Migrated from schema {found.at} to {found.newest}.", "good")
