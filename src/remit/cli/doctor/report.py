"""How findings are told: to people, and as JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from remit.cli.doctor.finding import Finding, Level
from remit.cli.render.page import Block, Line, Tone
from remit.cli.render.wording import count, one_line

LEVELS: Mapping[Level, Tone] = {"error": "bad", "warning": "waiting", "note": "dim"}


def wrong(findings: Sequence[Finding]) -> bool:
    """Whether any is more than a note."""
    return any(one.level != "note" for one in findings)


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """The worst first; what was found first stays first."""
    return sorted(findings, key=lambda one: list(LEVELS).index(one.level))


def page(place: str | None, findings: Sequence[Finding]) -> list[Block]:
    """The findings for people."""
    blocks: list[Block] = [Line(one_line(place), "dim")] if place else []
    for one in findings:
        blocks.append(Line(f"{one.level}: {one.name}", LEVELS[one.level]))
        blocks.append(Line(f"{_sentence(one.what)}", indent=1))
        blocks.append(Line(f"Mend: {one_line(one.mend)}", "dim", indent=1))
    blocks.append(_sum(findings))
    return blocks


def lines(place: str | None, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The findings for programs, and the sum of them last."""
    told = [
        {
            "kind": "finding",
            "level": one.level,
            "name": one.name,
            "what": one.what,
            "mend": one.mend,
        }
        for one in findings
    ]
    levels = Counter(one.level for one in findings)
    return [
        *told,
        {
            "kind": "doctor",
            "store": place,
            "errors": levels["error"],
            "warnings": levels["warning"],
            "notes": levels["note"],
        },
    ]


def _sum(findings: Sequence[Finding]) -> Line:
    levels = Counter(one.level for one in findings)
    counts = [count(levels[level], level) for level in LEVELS if levels[level]]
    if wrong(findings):
        return Line(f"{', '.join(counts)}.", "bad")
    return Line(f"Nothing is wrong{' (' + counts[0] + ')' if counts else ''}.", "good")


def _sentence(text: str) -> str:
    flat = one_line(text)
    return flat[:1].upper() + flat[1:]
