"""Where a command's words go: a terminal, a pipe, or a program that reads JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from remit.cli.render import plain
from remit.cli.render.page import Block
from remit.values import codec

VERSION = 1
"""The version that every JSON line carries as `v`; fields are only added within one."""

Form = Literal["terminal", "plain", "json"]


def form(json: bool) -> Form:
    """How to speak to whoever reads stdout."""
    if json:
        return "json"
    dumb = os.environ.get("TERM") == "dumb"
    return "terminal" if sys.stdout.isatty() and not dumb else "plain"


def show(blocks: Sequence[Block], objects: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    """Print a page for people, or in its place `objects`, one JSON line each."""
    match form(json):
        case "json":
            for values in objects:
                json_line(values)
        case "plain":
            for line in plain.lines(blocks):
                sys.stdout.write(line + "\n")
        case "terminal":
            from rich.console import Console

            from remit.cli.render import terminal

            terminal.show(Console(highlight=False), blocks)


def json_line(values: Mapping[str, Any]) -> None:
    """Print one JSON line, at once."""
    sys.stdout.write(codec.encode({"v": VERSION, **values}).decode() + "\n")
    sys.stdout.flush()
