"""Named SQL statements, loaded from the `.sql` files beside a store's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from itertools import pairwise

_NAME = "-- name: "


def load(package: str, file: str) -> Mapping[str, str]:
    """The statements of `file` in `package`, by name.

    A statement is a line that says why it is as it is, `-- name: x`, and its text up to the next.
    Raises ValueError where a reason, a name or a text is missing, or a name stands twice.
    """
    return parse(resources.files(package).joinpath(file).read_text("utf-8"))


def parse(text: str) -> dict[str, str]:
    """The statements in `text`, by name; see `load`."""
    statements: dict[str, str] = {}
    for reason, name, statement in _blocks(text.splitlines()):
        if not reason.startswith("-- ") or reason.startswith(_NAME):
            raise ValueError(f"statement {name!r} needs one line above it that says why")
        if not name or not statement:
            raise ValueError(f"statement {name!r} needs a name and a text")
        if name in statements:
            raise ValueError(f"statement {name!r} stands twice")
        statements[name] = statement
    return statements


def _blocks(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    starts = [number for number, line in enumerate(lines) if line.startswith(_NAME)]
    for start, following in pairwise([*starts, len(lines) + 1]):
        reason = lines[start - 1] if start else ""
        text = "\n".join(lines[start + 1 : following - 1]).strip()
        yield reason, lines[start].removeprefix(_NAME).strip(), text
