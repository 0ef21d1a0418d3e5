"""Ids: short, unguessable, and in the order of their making."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new(kind: str) -> str:
    """A fresh id: `kind`, a millisecond timestamp and 80 random bits (the layout of a ULID).

    Source: the ULID specification, in Crockford's base 32 and lower case.
    """
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    digits = "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))
    return f"{kind}_{digits}"
