"""The options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from remit.cli import address

Command = Callable[[], int]

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", show_default=False)]
By = Annotated[str, typer.Option("--by", metavar="USER", help="Your own id, for the record.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON lines.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="ADDRESS",
        help="The store's address, like sqlite:///desk.db. Unless given: that in"
        f" {address.VARIABLE}, then {address.DEFAULT}.",
    ),
]
AppName = Annotated[
    str,
    typer.Option(
        "--app",
        metavar="MODULE:APP",
        help="The App, or a function that gives one, whose code and store are used.",
    ),
]
OfApp = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:APP",
        help="In place of a store: an App, or a function that gives one, whose store, payload codec"
        " and agents are used.",
    ),
]
