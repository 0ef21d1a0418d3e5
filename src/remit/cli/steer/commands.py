"""The commands that steer runs, and their options; reading them runs nothing yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from remit.cli import address
from remit.cli.runs import Where
from remit.values.identity import Caller

Command = Callable[[], int]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", show_default=False)]
By = Annotated[str, typer.Option("--by", metavar="USER", help="Your own id, for the record.")]
AppName = Annotated[
    str,
    typer.Option(
        "--app",
        metavar="MODULE:APP",
        help="The App, or a function that gives one, whose code and store are used.",
    ),
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar=address.VARIABLE,
        metavar="ADDRESS",
        help="The store's address, like sqlite:///desk.db.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON lines.")]


def send(
    run: RunId,
    message: Annotated[str, typer.Argument(metavar="TEXT", help="What the run is to read.")],
    *,
    by: By,
    store: Store = address.DEFAULT,
    json: Json = False,
) -> Command:
    """Send a message into a run: an agent sees it before its next model call."""
    from remit.cli.steer import work

    where = Where(store=store, json=json)
    return partial(asyncio.run, work.send(where, run, message, Caller(user=by)))


def answer(  # an option each
    run: RunId,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question's id.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON, or text as it is.")],
    *,
    by: By,
    store: Store = address.DEFAULT,
    json: Json = False,
) -> Command:
    """Answer a question that a workflow waits with."""
    from remit.cli.steer import work

    where = Where(store=store, json=json)
    return partial(asyncio.run, work.answer(where, run, question, value, Caller(user=by)))


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
    return partial(asyncio.run, work.fork(app, wanted, caller, json=json))


def replay(run: RunId, *, app: AppName, json: Json = False) -> Command:
    """Drive a recorded run again, with no model and no tool; exit 1 where the code differs."""
    from remit.cli.steer import work

    return partial(asyncio.run, work.replay(app, run, json=json))
