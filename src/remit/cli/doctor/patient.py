"""What is to be looked at: an app by its name in a module, and a store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from remit.agent.agent import Agent
from remit.agent.toolbox import Inventory
from remit.cli import apps
from remit.cli.doctor.finding import Finding
from remit.store.connect import connect
from remit.store.protocol import Store
from remit.values.clock import Clock
from remit.values.errors import ConfigError, DriverMissingError


@dataclass(frozen=True, slots=True)
class Opened:
    """An app's agents, the programs (`name@version`) whose runs it drives, earlier names and
    workflows among them, its store, which was not opened, and what its agents can do."""

    agents: Sequence[Agent[Any, Any]]
    programs: Collection[str]
    store: Store
    inventories: Sequence[Inventory] = ()

    @property
    def workflows(self) -> Collection[str]:
        """The programs that are no agent's."""
        return set(self.programs) - {
            f"{name}@{agent.version}"
            for agent in self.agents
            for name in (agent.name, *agent.aliases)
        }


async def app(name: str) -> Opened | Finding:
    """The app that `name` (`module:app`) stands for, or why it cannot be made.

    Raises NoSuchAppError for a name that leads to no App.
    """
    try:
        made = await apps.named(name)
    except apps.NoSuchAppError:
        raise
    except DriverMissingError as error:
        return driver_missing(error)
    except ConfigError as error:
        return Finding("error", "app-broken", f"{name} cannot be made", str(error))
    except Exception as error:
        module = name.partition(":")[0]
        return Finding(
            "error",
            "app-broken",
            f"{name} cannot be imported: {type(error).__name__}: {error}",
            f"mend what `python -c 'import {module}'` shows",
        )
    return Opened(made.agents, frozenset(made.programs), made.store, made.inventory())


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
