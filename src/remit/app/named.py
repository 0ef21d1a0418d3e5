"""What an App's methods are given by name, and what names a run, checked before anything else."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from difflib import get_close_matches

from remit.values.errors import ConfigError, RunNotFoundError
from remit.values.identity import is_id
from remit.values.results import Run


def check_options(method: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ConfigError for an option that `method` does not take."""
    takes = list(known)
    for name in given:
        if name not in takes:
            close = get_close_matches(name, takes, 1)
            meant = f": did you mean {close[0]}=?" if close else ""
            raise ConfigError(f"{method} takes {', '.join(takes)}, not {name!r}{meant}")


def check_run_id(run: object) -> None:
    """Raise ConfigError for what holds a run or will give its id, and RunNotFoundError for what
    else cannot be a run's id."""
    check_no_run(run)
    if not is_id(run):
        raise RunNotFoundError(run=repr(run)[:80])


def check_no_run(given: object) -> None:
    """Raise ConfigError for a Run, and for what was not awaited, in the place of a run's id."""
    if isinstance(given, Run):
        raise ConfigError(f"this takes a run's id, and got the Run: give run.id, {given.id!r}")
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()  # it would warn that nobody awaited it
        raise ConfigError(
            "this takes a run's id, and got what was not awaited: write await, like"
            " app.wait(await app.start(…))"
        )
