"""Pages for pipes and files: bare text, no colours, the same widths every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from remit.cli.render.page import Block, Column, Fields, Heading, Line, Listing

_STEP = "  "


def lines(blocks: Sequence[Block]) -> Iterator[str]:
    """The page's lines."""
    for number, block in enumerate(blocks):
        match block:
            case Heading(text):
                if number:
                    yield ""
                yield text
            case Line(text, _, indent):
                yield from (_STEP * indent + part for part in text.split("\n"))
            case Fields(pairs):
                width = max((len(name) for name, _ in pairs), default=0)
                for name, cell in pairs:
                    yield from _field(name, cell.text, width)
            case Listing(columns, rows):
                texts = [[cell.text for cell in row] for row in rows]
                yield from _table(columns, texts)
            case _:
                assert_never(block)


def _field(name: str, text: str, width: int) -> Iterator[str]:
    first, *more = text.split("\n")
    yield f"{name:<{width}}  {first}".rstrip()
    yield from (f"{'':<{width}}  {part}".rstrip() for part in more)


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    titles = [column.title for column in columns]
    for row in [titles, *rows]:
        parts = [
            f"{text:>{column.width}}" if column.right else f"{text:<{column.width}}"
            for text, column in zip(row, columns, strict=True)
        ]
        yield "  ".join(parts).rstrip()
