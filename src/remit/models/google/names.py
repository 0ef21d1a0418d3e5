"""Tools' names as Gemini takes and gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PREFIX = re.compile(r"^(?:default_api|functions?|tools?)[.:/]")
_START = re.compile(r"[A-Za-z_]")
_CALLED = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)\s*\(")
_UNREAD = "unknown"


def sent_name(name: str) -> str:
    """`name` as it is sent: Gemini wants a letter or `_` at its front."""
    return name if _START.match(name) else f"_{name}"


class Names:
    """The names of a request's tools."""

    def __init__(self, tools: Iterable[str]) -> None:
        self._own = {sent_name(name): name for name in tools}

    def own(self, name: str) -> str:
        """The tool's own name for the one that Gemini wrote, or that one where it is no tool's."""
        bare = _PREFIX.sub("", name)
        return self._own.get(name) or self._own.get(bare) or name

    def told_of(self, report: str) -> str:
        """The tool that `report` of a broken call is about, else the name that is called in it."""
        found = [
            (match.start(), own)
            for sent, own in self._own.items()
            if (match := re.search(rf"(?<![\w-]){re.escape(sent)}(?![\w-])", report))
        ]
        if found:
            return min(found)[1]
        called = [name for name in _CALLED.findall(report) if name != "print"]
        return called[0] if called else _UNREAD
