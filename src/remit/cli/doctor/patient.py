"""What is to be looked at: an app by its name in a module, and a store."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from remit.agent.agent import Agent
from remit.app import App
from remit.cli.doctor.finding import Finding
from remit.store.connect import DriverMissingError, connect
from remit.store.protocol import Store
from remit.values.clock import Clock
from remit.values.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Opened:
    """An app's agents, the programs (`name@version`) whose runs it drives, earlier names and
    workflows among them, and its store, which was not opened."""

    agents: Sequence[Agent[Any, Any]]
    programs: Collection[str]
    store: Store


async def app(name: str) -> Opened | Finding:
    """The app that `name` (`module:app`) stands for, or why it cannot be made.

    The module is looked for in the current folder first. Raises ConfigError for a name that
    leads to no App.
    """
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise ConfigError(f"--app takes MODULE:APP, like desk:app, and not {name!r}")
    try:
        made = await _made(module, attribute)
    except DriverMissingError as error:
        return driver_missing(error)
    except ConfigError as error:
        return Finding("error", "app-broken", f"{name} cannot be made", str(error))
    except _NoSuchName as error:
        raise ConfigError(str(error)) from None
    except Exception as error:
        return Finding(
            "error",
            "app-broken",
            f"{name} cannot be imported: {type(error).__name__}: {error}",
            f"mend what `python -c 'import {module}'` shows",
        )
    if not isinstance(made, App):
        raise ConfigError(f"{name} is {type(made).__name__} and no App: name an App, or a function")
    programs = frozenset(program for program in made.programs)
    return Opened(made.agents, programs, made.store)


def store(address: str, clock: Clock) -> Store | Finding:
    """The store at `address`, not opened, or what its address needs and is not installed."""
    try:
        return connect(address, clock)
    except DriverMissingError as error:
        return driver_missing(error)


def driver_missing(error: DriverMissingError) -> Finding:
    """The message is `what: mend`."""
    what, _, mend = str(error).partition(": ")
    return Finding("error", "package-missing", what, mend)


class _NoSuchName(Exception):
    """The module, or the name in it, is not there."""


async def _made(module: str, attribute: str) -> Any:
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise _NoSuchName(f"there is no module {module!r} here: give --app MODULE:APP") from None
    made: Any = found
    for part in attribute.split("."):
        if not hasattr(made, part):
            raise _NoSuchName(f"the module {module!r} has no {attribute!r}")
        made = getattr(made, part)
    if callable(made) and not isinstance(made, App):
        made = made()
    return await made if inspect.isawaitable(made) else made
