"""Pages for a terminal, in colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from rich.cells import cell_len
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
_GAP, _FOLDED = 2, 10
"""Between columns, and the least of one whose texts may be broken."""


def text(words: str, tone: Tone = "plain") -> Text:
    """Words in their colour; what looks like markup in them is text."""
    return Text(words, style=STYLES[tone])


def show(console: Console, blocks: Sequence[Block]) -> None:
    """Print a page."""
    for renderable in renderables(blocks, console.width):
        console.print(renderable, soft_wrap=isinstance(renderable, Text), crop=False)


def renderables(blocks: Sequence[Block], room: int) -> Iterator[RenderableType]:
    """What rich prints for each block in a terminal `room` wide."""
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
                yield _table(block, room)
            case _:
                assert_never(block)


def _grid(rows: Sequence[tuple[Cell, Cell]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*(text(cell.text, cell.tone) for cell in row))
    return grid


def _table(listing: Listing, room: int) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="bold")
    least = 0
    for number, column in enumerate(listing.columns):
        texts = [column.title, *(row[number].text for row in listing.rows)]
        longest = max(map(cell_len, texts))
        least += _GAP + (longest if column.whole else min(longest, _FOLDED))
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=column.whole,
        )
    if least > room:
        # Its lines go on in the terminal's next: rich would cut ids and money short.
        table.width = least
    for row in listing.rows:
        table.add_row(*(text(cell.text, cell.tone) for cell in row))
    return table
