"""Telling, while a text comes, that it repeats itself."""

from __future__ import annotations

_STRIDE = 256
_MARK = 32
_LONGER = 4


class Repetition:
    """Whether a text that comes in pieces goes in circles.

    It does where its last `chars` characters are one passage, `times` times or more in a row, or
    the last `4 * chars` are; it is looked for after every 256 characters, wherever the pieces
    end. `times` is at least 3. Takes linear time and keeps no more than `4 * chars` characters
    and what came since the last look.
    """

    __slots__ = ("_keep", "_pieces", "_room", "_tail", "_windows")

    def __init__(self, chars: int, times: int) -> None:
        longer = chars * _LONGER
        self._windows = ((chars, chars // times), (longer, longer // times))
        self._keep = longer
        self._pieces: list[str] = []
        self._room = _STRIDE
        self._tail = ""

    def add(self, piece: str) -> bool:
        """Take the next piece; whether the text goes in circles by the end of it."""
        self._pieces.append(piece)
        self._room -= len(piece)
        return self._room <= 0 and self._look()

    def _look(self) -> bool:
        text = self._tail + "".join(self._pieces)
        # The tail ends where the last look was.
        looks = range(len(self._tail) + _STRIDE, len(text) + 1, _STRIDE)
        found = any(self._circles(text, end) for end in looks)
        last = looks[-1]
        self._pieces = [text[last:]]
        self._room = _STRIDE - (len(text) - last)
        self._tail = text[max(last - self._keep, 0) : last]
        return found

    def _circles(self, text: str, end: int) -> bool:
        return any(
            size <= end and _is_periodic(text[end - size : end], longest)
            for size, longest in self._windows
        )


def _is_periodic(text: str, longest: int) -> bool:
    """Whether `text`, at least three times as long as `longest`, has a period of at most that.

    Its beginning, without `longest` characters, is then found again first at the smallest
    period: two periods that both fit into it have a common divisor which is one too (the theorem
    of Fine and Wilf).
    """
    size = len(text)
    # Most texts do not get past this line: their last words were not said a moment ago.
    if text.find(text[-_MARK:], max(size - _MARK - longest, 0), size - 1) < 0:
        return False
    period = text.find(text[: size - longest], 1)
    return period > 0 and text[period:] == text[:-period]
