"""Plain data as every server can read it."""

from __future__ import annotations

import math
from typing import Any

from remit.values.content import sendable


def clean(value: Any) -> Any:
    """`value` with half characters as U+FFFD and NaN as null."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_deeper(value: object, most: int) -> bool:
    """Whether lists and objects are nested in `value` more than `most` deep."""
    depth, level = 0, [value]
    while level and depth <= most:
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        depth, level = depth + 1, [item for item in below if isinstance(item, dict | list)]
    return depth > most
