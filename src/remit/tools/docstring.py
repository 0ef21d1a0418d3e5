"""A function's docstring, taken apart into what the model reads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_GOOGLE = re.compile(
    r"^(?:(?:Keyword |Other )?(?:Args|Arguments|Params|Parameters)|Returns|Yields|Receives|Raises|"
    r"Exceptions|Warns|Examples?|Attributes|Functions|Methods|Classes|Modules|Type Parameters)"
    r":[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_NUMPY = re.compile(
    r"^(?:(?:Other )?(?:Args|Arguments|Params|Parameters)|Returns|Yields|Receives|Raises|Warns|"
    r"See Also|References|Examples?|Attributes|Functions|Methods|Classes|Modules|Type Parameters)"
    r"[ \t]*\n-{3,}[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_SPHINX = re.compile(
    r"^:(?:(?:param|parameter|arg|argument|key|keyword|type|var|ivar|cvar|vartype|raise|raises|"
    r"except|exception)[ \t][^:\n]+|return|returns|rtype|yield|yields):",
    re.MULTILINE,
)
_STYLES = {"google": _GOOGLE, "numpy": _NUMPY, "sphinx": _SPHINX}


@dataclass(frozen=True, slots=True)
class Described:
    """A docstring's text before its first section, and what it says of each parameter."""

    text: str
    parameters: dict[str, str] = field(default_factory=dict)


def describe(docstring: str | None) -> Described:
    """What a docstring in the style of Google, NumPy or Sphinx says; its first section tells the
    style, and one without sections is text alone."""
    text = inspect.cleandoc(docstring or "").strip()
    starts = {
        style: first.start() for style, found in _STYLES.items() if (first := found.search(text))
    }
    if not starts:
        return Described(text)
    style = min(starts, key=lambda style: starts[style])
    return Described(text[: starts[style]].strip(), _parameters(style, text[starts[style] :]))


def _parameters(style: str, sections: str) -> dict[str, str]:
    # griffe takes 100 ms to load: only a docstring with sections pays for it.
    from griffe import (
        Docstring,
        DocstringSectionOtherParameters,
        DocstringSectionParameters,
        parse_google,
        parse_numpy,
        parse_sphinx,
    )

    parsers: dict[str, Callable[..., Any]] = {
        "google": parse_google,
        "numpy": parse_numpy,
        "sphinx": parse_sphinx,
    }
    if style != "sphinx":
        # The parser asks for a blank line above a section, which people leave out.
        sections = _STYLES[style].sub(r"\n\g<0>", sections)
    return {
        parameter.name: parameter.description.strip()
        for section in parsers[style](Docstring(sections), warnings=False)
        if isinstance(section, DocstringSectionParameters | DocstringSectionOtherParameters)
        for parameter in section.value
    }
