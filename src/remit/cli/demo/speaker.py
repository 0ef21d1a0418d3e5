"""The screens there are: JSON lines for programs, bare lines for pipes, colours for terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from remit.cli.demo.screen import Beat, Moment, Screen, clock, happened
from remit.cli.render import output, plain
from remit.cli.render.page import Block


class JsonScreen:
    """One JSON line for each thing told."""

    def chapter(self, title: str) -> None:
        output.json_line({"kind": "chapter", "title": title})

    def tell(self, beat: Beat) -> None:
        output.json_line({"kind": "demo", "step": beat.step, "text": beat.text, **beat.facts})

    def event(self, moment: Moment) -> None:
        about = {"at": round(moment.at, 3), "worker": moment.worker, "message": moment.message}
        output.json_line({**msgspec.to_builtins(moment.event), "run": moment.run, **about})

    def standing(self, runs: int, ended: int, waiting: int, worker: str) -> None:
        return

    def show(self, blocks: Sequence[Block], values: Mapping[str, Any]) -> None:
        output.json_line(values)


class PlainScreen:
    """Bare lines, each written at once."""

    def chapter(self, title: str) -> None:
        self._write(f"\n{title}")

    def tell(self, beat: Beat) -> None:
        self._write(f"  {beat.text}")

    def event(self, moment: Moment) -> None:
        for cell in happened(moment.event):
            self._write(f"  {clock(moment)}  {cell.text}")

    def standing(self, runs: int, ended: int, waiting: int, worker: str) -> None:
        return

    def show(self, blocks: Sequence[Block], values: Mapping[str, Any]) -> None:
        self._write("\n" + "\n".join(plain.lines(blocks)))

    def _write(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@contextmanager
def opened(json: bool) -> Iterator[Screen]:
    """The screen for whoever reads stdout."""
    match output.form(json):
        case "json":
            yield JsonScreen()
        case "plain":
            yield PlainScreen()
        case "terminal":
            from remit.cli.demo.terminal import live

            with live() as screen:
                yield screen
