"""Reading a page's tables: by the heading above them, by the name in the first cell of a row."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.markdown import HEADING, read

Rows = dict[str, dict[str, str]]
"""Rows by the name in their first cell; each holds its other cells by their columns' names."""

_RULE = re.compile(r"[|\s:-]+")


class RepeatedRow(Exception):
    """A table has two rows of one name."""


def tables(page: Path) -> dict[str, Rows]:
    """The rows under each heading that has any, all code marks of headings and names left out."""
    found: dict[str, Rows] = {}
    title, columns = "", list[str]()
    for line in read(page).prose.splitlines():
        heading = HEADING.match(line)
        if heading is not None:
            title = _plain(heading["title"])
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = [_plain(cell) for cell in _cells(line)]
        elif not _RULE.fullmatch(line):
            name, *rest = _cells(line)
            rows = found.setdefault(title, {})
            if _plain(name) in rows:
                raise RepeatedRow(f"{page}: {title}: {name} has two rows: take one out")
            rows[_plain(name)] = dict(zip(columns[1:], rest, strict=True))
    return found


def _cells(line: str) -> Iterator[str]:
    return (cell.strip() for cell in line.strip().strip("|").split("|"))


def _plain(text: str) -> str:
    return text.replace("`", "")
