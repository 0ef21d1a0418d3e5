"""The commands and their options; reading them runs nothing yet."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from remit.cli import address, runs
from remit.cli.runs import Where, Which
from remit.cli.status import INTERRUPTED, OK, WRONG_USE
from remit.values.identity import Caller
from remit.values.results import Status

Command = Callable[[], int]

_EXITS = (
    "Exit status: 0 answered or done, 3 paused, 4 ended at a limit, 1 failed, cancelled or refused,"
    " 2 wrong use."
)

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
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", show_default=False)]
By = Annotated[str, typer.Option("--by", metavar="USER", help="Your own id, for the record.")]
Roles = Annotated[
    list[str] | None, typer.Option("--role", metavar="ROLE", help="A role of yours; repeatable.")
]


def read(arguments: list[str], complain: Callable[[str], None]) -> Command | int:
    """What `arguments` ask for, or an exit status where that was all (help, a wrong option)."""
    markup = "rich" if sys.stdout.isatty() else None
    command = typer.main.get_command(_app(markup))
    try:
        found: Command | int | None = command.main(
            arguments, prog_name="remit", standalone_mode=False
        )
    except typer.Abort:
        return INTERRUPTED
    except _usage_errors() as error:
        complain(f"remit: {_mend(error)}")
        return WRONG_USE
    return OK if found is None else found


def _app(markup: Any) -> typer.Typer:
    app = typer.Typer(
        help="Durable AI agents that stay within their remit.",
        add_completion=False,
        rich_markup_mode=markup,
        no_args_is_help=False,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    app.command("demo", help=f"Watch runs be killed, taken over, approved and finished. {_EXITS}")(
        _demo
    )
    group = typer.Typer(
        help=f"Look at the runs of a store, decide what waits, and cancel. {_EXITS}",
        rich_markup_mode=markup,
    )
    commands: dict[str, Callable[..., Command]] = {
        "list": _list,
        "show": _show,
        "approve": _approve,
        "deny": _deny,
        "cancel": _cancel,
    }
    for name, function in commands.items():
        group.command(name)(function)
    app.add_typer(group, name="runs")
    return app


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Tell the version.")] = False,
) -> None:
    if version:
        print(f"remit {metadata.version('remit')}")
        raise typer.Exit(OK)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(WRONG_USE)


def _demo(
    messages: Annotated[
        Path | None,
        typer.Option(
            "--messages",
            metavar="FILE",
            help='Your own messages: JSON lines with "user", "text" and, if you like, "id".',
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="FOLDER", help="Where its databases go; a fresh folder unless told."
        ),
    ] = None,
    json: Json = False,
) -> Command:
    def command() -> int:
        from remit.cli.demo.run import Options, demo

        return asyncio.run(demo(Options(messages=messages, folder=folder, json=json)))

    return command


def _list(  # noqa: PLR0913  # an option each
    status: Annotated[
        Status | None, typer.Option("--status", help="Only runs of this status.")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only this agent's.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only this user's.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="RUN", help="The page after this run.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many at most.")] = 50,
    store: Store = address.DEFAULT,
    json: Json = False,
) -> Command:
    """List runs, newest first."""
    which = Which(
        status=status,
        agent=agent,
        user=user,
        tenant=tenant,
        before=before,
        limit=limit,
    )
    return _soon(runs.list_runs(Where(store=store, json=json), which))


def _show(run: RunId, store: Store = address.DEFAULT, json: Json = False) -> Command:
    """Show one run: turns, calls, cost, who decided, what waits and what to type next."""
    return _soon(runs.show(Where(store=store, json=json), run))


def _approve(
    run: RunId,
    calls: Annotated[
        list[str] | None,
        typer.Argument(metavar="CALL", help="Calls by id; the only one that waits if none."),
    ] = None,
    *,
    by: By,
    role: Roles = None,
    store: Store = address.DEFAULT,
    json: Json = False,
) -> Command:
    """Approve pending calls: they run with the arguments that are shown."""
    where = Where(store=store, json=json)
    return _soon(runs.approve(where, run, calls or [], _caller(by, role)))


def _deny(  # noqa: PLR0913  # an option each
    run: RunId,
    call: Annotated[str, typer.Argument(metavar="CALL", help="The call's id.")],
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; the model reads it.")],
    by: By,
    role: Roles = None,
    store: Store = address.DEFAULT,
    json: Json = False,
) -> Command:
    """Deny a pending call: it does not run, and the model reads why."""
    return _soon(runs.deny(Where(store=store, json=json), run, call, reason, _caller(by, role)))


def _cancel(
    run: RunId,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the record.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="USER", help="Your own id, for the record.")
    ] = None,
    store: Store = address.DEFAULT,
    json: Json = False,
) -> Command:
    """Stop a run: it ends as cancelled."""
    caller = None if by is None else Caller(user=by)
    return _soon(runs.cancel(Where(store=store, json=json), run, reason, caller))


def _caller(by: str, roles: list[str] | None) -> Caller:
    return Caller(user=by, roles=frozenset(roles or ()))


def _soon(work: Coroutine[Any, Any, int]) -> Command:
    return partial(asyncio.run, work)


def _usage_errors() -> type[Exception]:
    """What all of typer's usage errors are, wherever the installed version keeps it."""
    base: type[Exception] = typer.BadParameter.__mro__[2]
    return base


def _mend(error: Exception) -> str:
    told = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "remit"
    return f"{told} Try: {command} --help"
