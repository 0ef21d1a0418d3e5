"""A function's docstring, taken apart into what the model reads."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(
    r"^(?:(?:Keyword |Other )?(?:Args|Arguments|Params|Parameters)|Returns|Yields|Receives|Raises|"
    r"Exceptions|Warns|Examples?|Attributes|Functions|Methods|Classes|Modules|Type Parameters)"
    r":[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Described:
    """A docstring's text before its first section, and what it says of each parameter."""

    text: str
    parameters: dict[str, str] = field(default_factory=dict)


def describe(docstring: str | None) -> Described:
    """What a docstring in Google style says; one without sections is text alone."""
    text = inspect.cleandoc(docstring or "").strip()
    first = _SECTION.search(text)
    if first is None:
        return Described(text)
    return Described(text[: first.start()].strip(), _parameters(text[first.start() :]))


def _parameters(sections: str) -> dict[str, str]:
    # griffe takes 100 ms to load: only a docstring with sections pays for it.
    from griffe import (
        Docstring,
        DocstringSectionOtherParameters,
        DocstringSectionParameters,
        parse_google,
    )

    # The parser asks for a blank line above a section, which people leave out.
    parted = _SECTION.sub(r"\n\g<0>", sections)
    return {
        parameter.name: parameter.description.strip()
        for section in parse_google(Docstring(parted), warnings=False)
        if isinstance(section, DocstringSectionParameters | DocstringSectionOtherParameters)
        for parameter in section.value
    }
