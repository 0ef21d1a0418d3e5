"""The commands that steer runs, and their options; reading them runs nothing yet."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from remit.cli.loops import go
from remit.cli.options import AppName, By, Command, Json, OfApp, RunId, Store
from remit.cli.where import Where
from remit.values.identity import Caller


def send(
    run: RunId,
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="Text; for a workflow JSON, or text as it is.")
    ],
    *,
    by: By,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """Send a message into a run: an agent sees it before its next model call, a workflow when it
    receives the next."""
    from remit.cli.steer import work

    where = Where(store=store, app=app, json=json)
    return partial(go, work.send(where, run, message, Caller(user=by)))


def answer(  # noqa: PLR0913  # an option each
    run: RunId,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question's id.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON, or text as it is.")],
    *,
    by: By,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """Answer a question that a workflow waits with."""
    from remit.cli.steer import work

    where = Where(store=store, app=app, json=json)
    return partial(go, work.answer(where, run, question, value, Caller(user=by)))


def fork(  # noqa: PLR0913  # an option each
    run: RunId,
    *,
    app: AppName,
    after_turn: Annotated[
        int | None, typer.Option("--after-turn", min=0, help="Counted from 0; the last if none.")
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", metavar="TEXT", help="What the fork is asked.")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Another agent.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Another model.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="A new thread for it.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="USER", help="Your own id, for the record.")
    ] = None,
    json: Json = False,
) -> Command:
    """Go on from a turn of a recorded run in a new run; the old one stays as it is."""
    from remit.cli.steer import work

    wanted = work.Fork(
        run=run, after_turn=after_turn, message=message, agent=agent, model=model, thread=thread
    )
    caller = None if by is None else Caller(user=by)
    return partial(go, work.fork(app, wanted, caller, json=json))


def replay(run: RunId, *, app: AppName, json: Json = False) -> Command:
    """Drive a recorded run again, with no model and no tool; exit 1 where the code differs."""
    from remit.cli.steer import work

    return partial(go, work.replay(app, run, json=json))
