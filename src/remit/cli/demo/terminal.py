"""The demo's story in a terminal: coloured lines, and how the runs stand below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from remit.cli.demo.screen import Beat, Moment, clock, happened
from remit.cli.render import terminal
from remit.cli.render.page import Block


class TerminalScreen:
    """Lines above, the standing of the runs below, until all is told."""

    def __init__(self, console: Console, bar: Live) -> None:
        self._console = console
        self._bar = bar

    def chapter(self, title: str) -> None:
        self._console.print()
        self._console.print(Rule(Text(title, style="bold cyan"), align="left", style="cyan"))

    def tell(self, beat: Beat) -> None:
        self._console.print(terminal.text(beat.text, beat.tone), soft_wrap=True)

    def event(self, moment: Moment) -> None:
        for cell in happened(moment.event):
            line = Text.assemble((f"{clock(moment)}  ", "dim"), terminal.text(cell.text, cell.tone))
            self._console.print(line, no_wrap=True, overflow="ellipsis")

    def standing(self, runs: int, ended: int, waiting: int, worker: str) -> None:
        going = runs - ended - waiting
        self._bar.update(
            Text.assemble(
                ("  runs  ", "dim"),
                (f"{ended} ended", "green"),
                ("  ", ""),
                (f"{going} going on", "bold"),
                ("  ", ""),
                (f"{waiting} waiting", "yellow"),
                (f"   worker {worker}", "dim"),
            )
        )

    def show(self, blocks: Sequence[Block], values: Mapping[str, Any]) -> None:
        # How the runs stood in the end is drawn once, however quickly it is all over.
        self._bar.refresh()
        self._bar.update(Text())
        self._console.print()
        terminal.show(self._console, blocks)


@contextmanager
def live() -> Iterator[TerminalScreen]:
    """A terminal's screen for as long as the block lasts."""
    console = Console(highlight=False)
    with Live(console=console, transient=True, refresh_per_second=10) as bar:
        yield TerminalScreen(console, bar)
