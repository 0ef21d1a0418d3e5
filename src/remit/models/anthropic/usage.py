"""From Anthropic's reports of usage to one shape."""

from __future__ import annotations

from typing import Any

from remit.models.wire.counts import Counts
from remit.values.usage import Usage

_COUNTS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)


class Tally:
    """Adds up the reports of one answer.

    They are cumulative: each may leave out what an earlier one told, and no count falls. One that
    does is kept at its height, and the whole is marked as estimated.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._numbers = Counts()

    def take(self, report: object) -> Usage | None:
        """What was used so far; None for a report that says nothing."""
        if not isinstance(report, dict):
            return None
        for name in _COUNTS:
            self._keep(name, report.get(name))
        self._keep("thinking", _inside(report, "output_tokens_details", "thinking_tokens"))
        self._keep("long", _inside(report, "cache_creation", "ephemeral_1h_input_tokens"))
        self._keep("short", _inside(report, "cache_creation", "ephemeral_5m_input_tokens"))
        return self._usage() if any(self._counts.values()) else None

    def _keep(self, name: str, value: object) -> None:
        count = self._numbers.read(value)
        if count is None:
            return
        before = self._counts.get(name, 0)
        self._numbers.odd = self._numbers.odd or 0 < count < before
        self._counts[name] = max(before, count)

    def _usage(self) -> Usage:
        count = self._counts.get
        read, output = count("cache_read_input_tokens", 0), count("output_tokens", 0)
        long = count("long", 0)
        written = max(count("cache_creation_input_tokens", 0), count("short", 0) + long)
        thinking = count("thinking", 0)
        # The rest of the input is told without what the cache gave and took.
        return Usage(
            input_tokens=count("input_tokens", 0) + read + written,
            cache_read_tokens=read,
            cache_write_tokens=written,
            cache_write_long_tokens=long,
            output_tokens=output,
            reasoning_tokens=min(thinking, output),
            estimated=self._numbers.odd or thinking > output,
        )


def _inside(report: dict[str, Any], part: str, name: str) -> object:
    found = report.get(part)
    return found.get(name) if isinstance(found, dict) else None
