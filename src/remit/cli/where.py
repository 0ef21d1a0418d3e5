"""Where a command looks: at a store by its address, or at the store of an app."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from remit.app import App
from remit.cli import address, apps, invocation
from remit.store.connect import in_memory, upkeep
from remit.store.protocol import Store
from remit.values.clock import SystemClock
from remit.values.errors import ConfigError, StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The store that a command looks at, or the app (`module:app`) whose it is, with its codec
    and its agents; and whether it answers in JSON lines. An address that is not told is found."""

    store: str | None = None
    app: str | None = None
    json: bool = False

    @property
    def address(self) -> str:
        """The store's address, where no app brings it."""
        return self.store or os.environ.get(address.VARIABLE) or address.DEFAULT

    def line(self, *words: str) -> str:
        """A whole command line that looks at the same place."""
        if self.app is None:
            return invocation.line(*words, store=self.address)
        return invocation.line(*words, "--app", self.app)


@asynccontextmanager
async def opened(where: Where) -> AsyncIterator[tuple[App, Store]]:
    """An App that drives nothing, and its store. Raises ConfigError where there is no store yet:
    looking at runs never makes a database. Raises StoreError where its schema is older, and leaves
    it so: what else works on it may be older, too."""
    if where.app is None:
        store = address.existing(where.address, SystemClock())
        idle = App(store=store, work=False)
    else:
        idle = await _named(where.app, where.store)
        store = idle.store
    await _refuse_what_is_older(store)
    try:
        async with idle as app:
            yield app, store
    finally:
        await store.close()


async def _named(name: str, store: str | None) -> App:
    if store is not None:
        raise ConfigError(f"the app {name} brings its store: leave --store or --app out")
    idle = (await apps.opened_by(name)).idle()
    if in_memory(idle.store):
        raise ConfigError(
            f"the store of {name} is in memory and ends with its process, so there is nothing to"
            " look at: give the app an address like sqlite:///file.db"
        )
    kept = upkeep(idle.store)
    if kept is not None and (await kept.versions()).at == 0:
        raise ConfigError(f"the store of {name} is not made yet: an App makes it when it opens it")
    return idle


async def _refuse_what_is_older(store: Store) -> None:
    kept = upkeep(store)
    found = None if kept is None else await kept.versions()
    if found is None or not found.due:
        return
    if found.at == 0:
        raise ConfigError("there is no store at this address yet: an App makes it when it opens it")
    raise StoreError(
        reason=f"its schema is {found.at}, and this remit needs {found.newest}: bring it up to date"
        " with `remit migrate`."
    )
