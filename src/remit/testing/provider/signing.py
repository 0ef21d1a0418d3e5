"""Signatures of thinking, as a maker of models gives them out and wants them back."""

from __future__ import annotations

import base64
import hashlib
import hmac

MAKER = "strict"


def sign(thinking: str, maker: str = MAKER) -> str:
    """The signature of a thinking block by `maker`: it fits these very words alone."""
    digest = hmac.digest(maker.encode(), thinking.encode(), hashlib.sha256)
    return base64.b64encode(digest).decode()
