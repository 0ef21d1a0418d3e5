"""From Gemini's usage report to one shape."""

from __future__ import annotations

from collections.abc import Mapping

from remit.models.wire.counts import Counts
from remit.values.usage import Usage

_COUNTS = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "toolUsePromptTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


def counts_in(report: object) -> dict[str, float]:
    """The counts that `report` holds. One that is 0 is left out of reports."""
    found = report if isinstance(report, dict) else {}
    return {
        name: found[name]
        for name in _COUNTS
        if isinstance(found.get(name), int | float) and not isinstance(found[name], bool)
    }


def read_usage(counts: Mapping[str, float]) -> Usage:
    """What the counts say was used. Thoughts are billed as output and told beside it; what tools
    of Gemini's own read is input.

    A part that exceeds its whole, a number that no count is or a total that does not add up is
    clamped and marked as estimated. Tokens that only the total knows of count as output.
    """
    numbers = Counts()
    found = (numbers.read(counts.get(name)) or 0 for name in _COUNTS)
    asked, cached, said, read, thought, total = found
    sent, made = asked + read, said + thought
    unexplained = total - sent - made
    odd = numbers.odd or cached > sent or ("totalTokenCount" in counts and unexplained != 0)
    return Usage(
        input_tokens=sent,
        cache_read_tokens=min(cached, sent),
        output_tokens=made + max(unexplained, 0),
        reasoning_tokens=thought,
        estimated=odd,
    )
