"""From a server's usage report to one shape."""

from __future__ import annotations

from typing import Any

from remit.models.wire.counts import Counts
from remit.values.usage import Usage

_LONG = "ttl_12h_tokens"
"""What is written to the cache for longer than the usual half an hour."""


def read_usage(report: object) -> Usage | None:
    """What `report` says was used, or None where it says nothing.

    A part that exceeds its whole, a number that no count is or a total that does not add up is
    clamped and marked as estimated. Tokens that only the total knows of count as output: some
    servers leave reasoning out of `completion_tokens`.
    """
    if not isinstance(report, dict):
        return None
    numbers = Counts()
    prompt = numbers.first(report, "prompt_tokens", "input_tokens")
    output = numbers.first(report, "completion_tokens", "output_tokens")
    total = numbers.first(report, "total_tokens")
    if prompt is None and output is None and total is None:
        return None
    into = _details(report, "prompt_tokens_details", "input_tokens_details")
    out_of = _details(report, "completion_tokens_details", "output_tokens_details")
    read = numbers.first(into, "cached_tokens")
    if read is None:
        read = numbers.first(report, "prompt_cache_hit_tokens", "cached_tokens")
    written = numbers.first(into, "cache_write_tokens") or 0
    long = numbers.first(_details(into, "cache_write_tokens_details"), _LONG) or 0
    reasoning = numbers.first(out_of, "reasoning_tokens") or 0
    sent = prompt or 0
    made = _made(numbers, output, total, sent, reasoning)
    cached = numbers.at_most(read or 0, sent)
    written = numbers.at_most(written, sent - cached)
    return Usage(
        input_tokens=sent,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        cache_write_long_tokens=numbers.at_most(long, written),
        output_tokens=made,
        reasoning_tokens=numbers.at_most(reasoning, made),
        estimated=numbers.odd,
    )


def _made(numbers: Counts, output: int | None, total: int | None, sent: int, reasoning: int) -> int:
    if not total:
        return output or 0
    if output is None:
        return max(total - sent, 0)
    unexplained = total - sent - output
    if unexplained <= 0:
        numbers.odd = numbers.odd or unexplained < 0
        return output
    numbers.odd = numbers.odd or unexplained != reasoning
    return output + unexplained


def _details(report: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        found = report.get(name)
        if isinstance(found, dict):
            return found
    return {}
