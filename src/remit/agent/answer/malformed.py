"""An answer that is a call written as text: what is kept of it, and what the model is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remit.agent.answer.detector import Detector, is_plain
from remit.models.assemble import Assembly, RawCall
from remit.values import codec
from remit.values.content import Reasoning, Text

TRIES: Final = 2
"""So many such answers in a row end the run."""

NOTE: Final = (
    "Your last answer was a tool call written as text. It was not run, and nobody has seen it."
    " Call tools through the tool interface only, or answer in words."
)
"""What the model is told, in the next request and in no later one."""

Parts = list[Text | Reasoning | RawCall]


class Watched:
    """An answer's text on its way to readers, of which the detector holds calls back."""

    __slots__ = ("_detector", "feed")

    def __init__(self, names: frozenset[str]) -> None:
        self._detector = Detector(names)
        self.feed = self._detector.feed
        """What may be shown once a piece has come."""

    def rest(self) -> str:
        """What may be shown at the end."""
        return self._detector.close()

    def kept(self, assembly: Assembly) -> tuple[Parts, str | None]:
        """The parts of the answer that are kept, and the text of one that is no answer.

        Beside calls that are calls, text that is one is residue, and is left out.
        """
        parts = assembly.parts
        if not self._detector.leaked:
            return parts, None
        text = "".join(part.text for part in parts if isinstance(part, Text))
        if not any(isinstance(part, RawCall) for part in parts):
            return [], text
        return self.before(assembly), None

    def before(self, assembly: Assembly) -> Parts:
        """The parts without what stands in the text from the call on that was found in it."""
        parts = assembly.parts
        text = "".join(part.text for part in parts if isinstance(part, Text))
        prose = text[: self._detector.gone]
        rest: Parts = [part for part in parts if not isinstance(part, Text)]
        first = next((at for at, part in enumerate(parts) if isinstance(part, Text)), 0)
        return [*rest[:first], *([Text(prose)] if prose.strip() else []), *rest[first:]]


def holds_call(text: str, names: frozenset[str]) -> bool:
    """Whether `text`, or what it says where it is JSON, holds a call of one of these tools."""
    plain = text.replace("\\n", "\n").replace('\\"', '"')
    try:
        said = list(texts(codec.decode(text.encode(), object)))
    except ValueError:
        said = []
    return any(is_call(each, names) for each in (text, plain, *said))


def texts(value: Any) -> Iterator[str]:
    """Every text in a plain value."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting.extend([*found, *found.values()])
        elif isinstance(found, list):
            waiting.extend(found)


def is_call(text: str, names: frozenset[str]) -> bool:
    """Whether `text` is a call of one of these tools, or leads to one."""
    if is_plain(text, names):
        return False
    detector = Detector(names)
    detector.feed(text)
    detector.close()
    return detector.leaked
