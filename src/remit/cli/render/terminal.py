"""Pages for a terminal, in colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from remit.cli.render.page import Block, Cell, Fields, Heading, Line, Listing, Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "good": "green",
    "bad": "bold red",
    "waiting": "yellow",
    "dim": "dim",
    "strong": "bold",
}


def text(words: str, tone: Tone = "plain") -> Text:
    """Words in their colour; what looks like markup in them is text."""
    return Text(words, style=STYLES[tone])


def show(console: Console, blocks: Sequence[Block]) -> None:
    """Print a page."""
    for renderable in renderables(blocks):
        console.print(renderable, soft_wrap=isinstance(renderable, Text))


def renderables(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    """What rich prints for each block."""
    for number, block in enumerate(blocks):
        match block:
            case Heading(words):
                if number:
                    yield Text()
                yield Text(words, style="bold cyan")
            case Line(words, tone, indent):
                line = text(words, tone)
                yield Padding(line, (0, 0, 0, 2 * indent)) if indent else line
            case Fields(pairs):
                yield _grid([(Cell(name, "dim"), cell) for name, cell in pairs])
            case Listing():
                yield _table(block)
            case _:
                assert_never(block)


def _grid(rows: Sequence[tuple[Cell, Cell]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*(text(cell.text, cell.tone) for cell in row))
    return grid


def _table(listing: Listing) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in listing.columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=column.whole,
        )
    for row in listing.rows:
        table.add_row(*(text(cell.text, cell.tone) for cell in row))
    return table
