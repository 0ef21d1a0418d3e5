"""The commands that look after a store or an app; reading their options runs nothing yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from remit.cli import address
from remit.cli.loops import go
from remit.cli.options import Json

_STORE = "The store's address, like sqlite:///desk.db."
_UNLESS = f"Unless given: that in {address.VARIABLE}; without either it is wrong use."


def migrate(
    store: Annotated[
        str | None,
        typer.Argument(metavar="STORE", help=f"{_STORE} {_UNLESS}", show_default=False),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if a migration is due.")
    ] = False,
    json: Json = False,
) -> Callable[[], int]:
    """Bring a store's schema up to date, or make it."""
    from remit.cli.migrate import migrate

    return partial(go, migrate(store, check=check, json=json))


def doctor(
    store: Annotated[
        str | None,
        typer.Argument(
            metavar="STORE",
            help=f"{_STORE} With --app it is the app's own unless given. {_UNLESS}",
            show_default=False,
        ),
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(
            "--app",
            metavar="MODULE:APP",
            help="An App, or a function that gives one: its agents and its store are looked at.",
        ),
    ] = None,
    json: Json = False,
) -> Callable[[], int]:
    """Say what is wrong with a store and its runs, and the mend; exit 0 if nothing is, else 1."""
    from remit.cli.doctor import Options, doctor

    return partial(go, doctor(Options(store=store, app=app, json=json)))


def inventory(
    app: Annotated[
        str,
        typer.Option("--app", metavar="MODULE:APP", help="An App, or a function that gives one."),
    ],
    agent: Annotated[
        str | None,
        typer.Argument(metavar="AGENT", help="Only this agent's.", show_default=False),
    ] = None,
    json: Json = False,
) -> Callable[[], int]:
    """List what an app's agents can do: each tool with its policies, and whether it may run."""
    from remit.cli.inventory import inventory

    return partial(go, inventory(app, agent, json=json))
