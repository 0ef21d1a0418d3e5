"""The command `spend` and its options; reading them runs nothing yet."""

from __future__ import annotations

from functools import partial
from typing import Annotated, get_args

import typer

from remit.app.spending import Group
from remit.cli.loops import go
from remit.cli.options import Command, Json, OfApp, Store
from remit.cli.where import Where

*_FIRST, _LAST = get_args(Group)
_GROUPS = f"{', '.join(_FIRST)} or {_LAST}"
_WHEN = "a day (its midnight UTC), or a time with its zone, like 2026-11-30T12:00Z"


def spend(  # noqa: PLR0913  # an option each
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="GROUP",
            help=f"Add up by {_GROUPS}; repeatable. By day unless told.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only this user's.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only this run's.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Only this agent's, inside others, too.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help=f"From then on: {_WHEN}.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="WHEN", help=f"Before then: {_WHEN}.")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", min=1, help="The last days of UTC, so many, today among them."),
    ] = None,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """Tell what model calls cost: a bar for each day, or sums by groups, the dearest first. Days
    are those of UTC. Nothing is written, and no run is driven."""
    from remit.cli.spend.asked import Asked
    from remit.cli.spend.work import spend

    asked = Asked(
        by=tuple(by or ()),
        user=user,
        tenant=tenant,
        run=run,
        agent=agent,
        since=since,
        until=until,
        days=days,
    )
    return partial(go, spend(Where(store=store, app=app, json=json), asked))
