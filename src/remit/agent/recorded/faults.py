"""Answers that were none, as far as the model is to be told of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Faults:
    """The newest answers of a run, with none between that was one.

    `malformed` of them were calls written as text, `misfits` no value of the agent's type. `raw`
    is the text of the newest, None where that was an answer; `misfit` says what to mend in it.
    """

    malformed: int = 0
    misfits: int = 0
    raw: str | None = None
    misfit: str | None = None

    def clear(self) -> None:
        """An answer came that is one."""
        self.malformed = self.misfits = 0
        self.raw = self.misfit = None

    def add(self, raw: str, misfit: str | None) -> None:
        """An answer came that is none."""
        self.raw, self.misfit = raw, misfit
        if misfit is None:
            self.malformed += 1
        else:
            self.misfits += 1
