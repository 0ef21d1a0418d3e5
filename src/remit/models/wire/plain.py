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
