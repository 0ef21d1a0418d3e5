"""Values to data-only JSON bytes and back, without loss.

NUL is kept by JSON's own escape. A lone surrogate, which UTF-8 cannot hold, is kept by the same
kind of escape; such values take a slower road. NaN and infinities become null.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

FORMAT = 1
"""The highest format of entries that this code writes and reads."""

_encode = msgspec.json.Encoder().encode


def encode(value: object) -> bytes:
    """`value`, a struct or plain data, as JSON."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        plain = _finite(msgspec.to_builtins(value, str_keys=True))
        return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode()


def decode(body: bytes, type_: type[T]) -> T:
    """The value of `type_` that `encode` wrote. Raises msgspec.ValidationError if it is none."""
    decoder: msgspec.json.Decoder[T] = _decoder(type_)  # type: ignore[arg-type]  # types hash
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(body), type_)


def convert(value: object, type_: type[T]) -> T:
    """A live or decoded `value` as `type_`; a live one of that type is handed on as it is."""
    if isinstance(type_, type) and isinstance(value, type_):
        return value
    return msgspec.convert(value, type_)


def _finite(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(value) for value in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)
