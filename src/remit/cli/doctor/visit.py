"""The doctor's visit: look, judge, tell."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass

from remit.cli import address, status
from remit.cli.doctor import machine, patient, report
from remit.cli.doctor.agents import agents
from remit.cli.doctor.database import database
from remit.cli.doctor.finding import Finding, Measures
from remit.cli.doctor.hidden import hidden
from remit.cli.doctor.patient import Opened
from remit.cli.doctor.work import work
from remit.cli.render import output
from remit.store.connect import upkeep
from remit.store.protocol import Store
from remit.store.upkeep import Concern, Look
from remit.values.clock import SystemClock
from remit.values.errors import ConfigError

_UNSEEN = Finding(
    "note",
    "store-unseen",
    "the app's store ends with its process, or is of a kind of its own: it is not looked into",
    "give the address of a store to look at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command was told."""

    store: str | None = None
    app: str | None = None
    json: bool = False


async def doctor(options: Options, measures: Measures | None = None) -> int:
    """Tell what is wrong; FAILED if anything is. Nothing is opened for work, and nothing is
    written. Raises ConfigError for an address or an app that cannot be meant."""
    measures = measures or Measures()
    findings = list(machine.python(sys.version_info[:2]))
    app = None if options.app is None else await patient.app(options.app)
    if isinstance(app, Finding):
        findings.append(app)
        app = None
    if app is not None:
        findings += agents(app.agents, machine.installed)
        findings += hidden(app.inventories)
    store = _store(options, app)
    look = None
    if isinstance(store, Finding):
        findings.append(store)
    elif store is not None:
        look = await _look(store, measures)
    if look is not None:
        known, workflows = (app.programs, app.workflows) if app else ((), ())
        findings += judged(look, known, SystemClock().wall(), measures, workflows)
    place = None if look is None else look.place
    findings = report.ordered(findings)
    output.show(report.page(place, findings), report.lines(place, findings), json=options.json)
    return status.FAILED if report.wrong(findings) else status.OK


def judged(
    look: Look,
    known: Collection[str],
    now: float,
    measures: Measures,
    workflows: Collection[str] = (),
) -> list[Finding]:
    """What is wrong by a look at `now`, for an app that has the programs `known`, if any, and
    `workflows` among them."""
    findings = list(database(look, measures))
    if look.work is not None:
        findings += work(look.work, known, now, measures, workflows)
    return findings


def _store(options: Options, app: Opened | None) -> Store | Finding | None:
    """The store that is meant; None where an app that cannot be made would have named it."""
    if options.store is not None:
        found = patient.store(options.store, SystemClock())
        if not isinstance(found, Finding) and upkeep(found) is None:
            raise ConfigError(
                "a store in memory ends with its process, so there is nothing to look at: give an"
                " address like sqlite:///file.db"
            )
        return found
    if app is not None:
        return _UNSEEN if upkeep(app.store) is None else app.store
    if options.app is not None:
        return None
    return patient.store(address.told(None), SystemClock())


async def _look(store: Store, measures: Measures) -> Look | None:
    kept = upkeep(store)
    concern = Concern(overdue=measures.overdue, paused=measures.paused)
    return None if kept is None else await kept.look(concern)
