"""The commands and their options; reading them runs nothing yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from remit.cli import address, keeping, prices, runs
from remit.cli.loops import go
from remit.cli.options import By, Command, Json, OfApp, RunId, Store
from remit.cli.runs import Which
from remit.cli.spend import commands as spending
from remit.cli.status import INTERRUPTED, OK, WRONG_USE
from remit.cli.steer import commands as steer
from remit.cli.where import Where
from remit.values.identity import Caller
from remit.values.results import Status

_EXITS = (
    "Exit status: 0 answered or done, 3 paused, 4 ended at a limit, 1 failed, cancelled or refused,"
    " 2 wrong use."
)

ModelName = Annotated[
    str,
    typer.Option("--model", metavar="NAME", help="The model, like openai:gpt-5.1."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", metavar="URL", help="A compatible server, like http://localhost:8080/v1."
    ),
]
Price = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN,OUT", help="Rates per million tokens; without them no cost is shown."
    ),
]
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
    app.command("chat", help=f"Talk to a model on a thread, one message a line. {_EXITS}")(_chat)
    app.command("migrate")(keeping.migrate)
    app.command("doctor")(keeping.doctor)
    app.command("inventory")(keeping.inventory)
    app.command("spend")(spending.spend)
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
        "answer": steer.answer,
        "send": steer.send,
        "fork": steer.fork,
        "replay": steer.replay,
    }
    for name, function in commands.items():
        group.command(name)(function)
    app.add_typer(group, name="runs")
    app.add_typer(prices.group(markup), name="prices")
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


def _demo(  # noqa: PLR0913  # an option each
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
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="A real model, like openai:gpt-5.1."),
    ] = None,
    base_url: BaseUrl = None,
    price: Price = None,
    json_tools: Annotated[
        bool, typer.Option("--json-tools", help="For a server without tool calling.")
    ] = False,
    json: Json = False,
) -> Command:
    def command() -> int:
        from remit.cli.demo.run import Options, demo
        from remit.cli.models import wanted

        asked = wanted(model, base_url, price, json_tools=json_tools)
        return go(demo(Options(messages=messages, model=asked, folder=folder, json=json)))

    return command


def _chat(  # noqa: PLR0913  # an option each
    model: ModelName,
    base_url: BaseUrl = None,
    instructions: Annotated[
        str, typer.Option("--instructions", metavar="TEXT", help="What the model is told first.")
    ] = "",
    store: Annotated[
        str,
        typer.Option(
            "--store",
            envvar=address.VARIABLE,
            metavar="ADDRESS",
            help="Where to keep the thread, like sqlite:///chat.db.",
        ),
    ] = "memory:",
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="The thread to go on with.")
    ] = None,
    price: Price = None,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Model calls a message.")] = 8,
    json: Json = False,
) -> Command:
    from remit.cli.chat import Options, chat
    from remit.cli.models import Wanted

    return _soon(
        chat(
            Options(
                model=Wanted(name=model, base_url=base_url, price=price),
                instructions=instructions,
                store=store,
                thread=thread,
                turns=turns,
                json=json,
            )
        )
    )


def _list(  # noqa: PLR0913  # an option each
    status: Annotated[
        Status | None, typer.Option("--status", help="Only runs of this status.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only this user's.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="RUN", help="The page after this run.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many at most.")] = 50,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """List runs, newest first."""
    which = Which(
        status=status,
        user=user,
        tenant=tenant,
        before=before,
        limit=limit,
    )
    return _soon(runs.list_runs(Where(store=store, app=app, json=json), which))


def _show(run: RunId, store: Store = None, app: OfApp = None, json: Json = False) -> Command:
    """Show one run: its turns, calls, cost and what waits."""
    return _soon(runs.show(Where(store=store, app=app, json=json), run))


def _approve(  # noqa: PLR0913  # an option each
    run: RunId,
    calls: Annotated[
        list[str] | None,
        typer.Argument(metavar="CALL", help="Calls by id; the only one that waits if none."),
    ] = None,
    *,
    by: By,
    role: Roles = None,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """Approve pending calls: they run as they are shown."""
    where = Where(store=store, app=app, json=json)
    return _soon(runs.approve(where, run, calls or [], _caller(by, role)))


def _deny(  # noqa: PLR0913  # an option each
    run: RunId,
    call: Annotated[str, typer.Argument(metavar="CALL", help="The call's id.")],
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; the model reads it.")],
    by: By,
    role: Roles = None,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """Deny a pending call; the model reads why."""
    return _soon(
        runs.deny(Where(store=store, app=app, json=json), run, call, reason, _caller(by, role))
    )


def _cancel(
    run: RunId,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the record.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="USER", help="Your own id, for the record.")
    ] = None,
    store: Store = None,
    app: OfApp = None,
    json: Json = False,
) -> Command:
    """Stop a run: it ends as cancelled."""
    caller = None if by is None else Caller(user=by)
    return _soon(runs.cancel(Where(store=store, app=app, json=json), run, reason, caller))


def _caller(by: str, roles: list[str] | None) -> Caller:
    return Caller(user=by, roles=frozenset(roles or ()))


def _soon(work: Coroutine[Any, Any, int]) -> Command:
    return partial(go, work)


def _usage_errors() -> type[Exception]:
    """What all of typer's usage errors are, wherever the installed version keeps it."""
    base: type[Exception] = typer.BadParameter.__mro__[2]
    return base


def _mend(error: Exception) -> str:
    told = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "remit"
    return f"{told} Try: {command} --help"
