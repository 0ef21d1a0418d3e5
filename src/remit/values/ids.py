"""Ids: short, unguessable, and in the order of their making."""

from __future__ import annotations

import base64
import os
import time


def new(kind: str) -> str:
    """A fresh id: `kind`, a millisecond timestamp and 80 random bits (the layout of a ULID).

    Source: the ULID specification, written in the base 32 of RFC 4648 that keeps the order.
    """
    milliseconds = (time.time_ns() // 1_000_000).to_bytes(6, "big")
    digits = base64.b32hexencode(milliseconds + os.urandom(10)).decode().rstrip("=").lower()
    return f"{kind}_{digits}"
