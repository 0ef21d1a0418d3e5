"""`remit prices suggest`: rates out of a price list, as the code that declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from remit.cli import status
from remit.cli.options import Json
from remit.cli.render import output
from remit.models import prices


def group(markup: Any) -> typer.Typer:
    """The commands about prices."""
    made = typer.Typer(help="Look up what models cost, to declare it.", rich_markup_mode=markup)
    made.callback()(_none)  # else a group of one command would be that command
    made.command("suggest")(suggest)
    return made


def _none() -> None:
    """No option of its own."""


def suggest(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model, like anthropic:claude-opus-4-8, or its name alone.",
            show_default=False,
        ),
    ],
    json: Json = False,
) -> Callable[[], int]:
    """Print the rates of a model from the price list that is installed, for you to declare.

    Nothing is fetched, and no run ever uses a rate that you have not declared.
    """
    return partial(_suggest, model, json=json)


def _suggest(name: str, *, json: bool) -> int:
    found = prices.suggest(name)
    if json:
        output.json_line(_object(found))
    else:
        print("\n".join(_lines(found)))
    return status.OK


def _lines(found: prices.Suggestion) -> Iterator[str]:
    """Python that can be pasted: what is to be known as comments, and the declaration."""
    yield f"# {found.name}, listed as {found.listed}"
    yield f"# by {found.source}, asked on {found.asked:%Y-%m-%d}: US dollars per million tokens."
    for page in found.pages:
        yield f"# Compare: {page}"
    for note in found.notes:
        yield f"# Note: {note}."
    if found.window is not None:
        yield f"# Its window, for Card(window=…): {found.window} tokens."
    yield found.declaration()


def _object(found: prices.Suggestion) -> dict[str, object]:
    return {
        "kind": "prices",
        "model": found.name,
        "listed": found.listed,
        "source": found.source,
        "asked": found.asked,
        "unit": "USD per million tokens",
        "pricing": {name: format(rate, "f") for name, rate in found.rates()},
        "window": found.window,
        "pages": list(found.pages),
        "notes": list(found.notes),
    }
