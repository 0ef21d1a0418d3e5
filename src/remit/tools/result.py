"""A tool's result as the text that the model reads."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from remit.tools.plain import compact, to_plain
from remit.values.content import well_formed

STEP_BACK = 32
"""How many characters a cut may come early so that it parts nothing."""

_JOINER = "\u200d"
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"


def render(value: object, limit: int | None, check: Callable[[Any], object] | None = None) -> str:
    """`value` as text: a `str` as it is, anything else as JSON, cut after `limit` characters.

    The one JSON form, in a result and however deep inside it:

    | value | JSON |
    | --- | --- |
    | None, bool, int, str | as they are |
    | float | a number; "NaN", "Infinity", "-Infinity" |
    | Decimal | a string with all its digits, "1.10" |
    | datetime, date, time | a string in ISO 8601, UTC as "Z" |
    | timedelta | a string in ISO 8601, "P1DT3.5S" |
    | UUID, path | a string |
    | bytes, bytearray, memoryview | a string in base64 (RFC 4648, section 4) |
    | Enum | what its value is |
    | list, tuple | an array |
    | set, frozenset | an array, in the order of its members' JSON |
    | dict, mapping | an object; keys become strings, 1 to "1", None to "null" |
    | named tuple, dataclass, msgspec struct | an object of its fields |
    | Pydantic model or dataclass | an object, as its own serializers say |
    | another type that Pydantic knows (URL, IP address, SecretStr) | what Pydantic says |

    The halves of surrogate pairs are joined, lone ones are kept. Raises ResultError for any
    other type, for what holds itself or is more than 100 deep or a million values large, and
    for an object in which two keys become one. `check` is called with the plain values first;
    what it raises is raised.
    """
    plain = value if type(value) is str else to_plain(value)
    if check is not None:
        check(plain)
    is_text = isinstance(value, str) and isinstance(plain, str)
    return cut(well_formed(plain if is_text else compact(plain)), limit)


def cut(text: str, limit: int | None) -> str:
    """`text`, or its first `limit` characters and a note that names its full size.

    A few less than `limit` where it would part what is drawn as one character, or a base64 unit.
    """
    if limit is None or len(text) <= limit:
        return text
    end = _whole_units(text, _whole_characters(text, limit))
    return f"{text[:end]}\n[Cut: the first {end} of {len(text)} characters.]"


def _whole_characters(text: str, limit: int) -> int:
    for end in range(limit, max(limit - STEP_BACK, 0), -1):
        if not _joined(text, end):
            return end
    return limit


def _joined(text: str, end: int) -> bool:
    """Whether a reader sees one character around `end` (the common part of Unicode's UAX 29)."""
    before, after = text[end - 1], text[end]
    if _JOINER in (before, after) or before + after == "\r\n":
        return True
    if unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    # Two letters make a flag, so an odd number of them before means that `after` is a second.
    flags = end - len(text[:end].rstrip(_FLAGS)) if after in _FLAGS else 0
    return flags % 2 == 1


def _whole_units(text: str, end: int) -> int:
    run = end - len(text[:end].rstrip(_BASE64))
    return end - run % 4 if run >= 64 and text[end] in _BASE64 + "=" else end
