"""Values to data-only JSON bytes and back, without loss.

NUL is kept by JSON's own escape. A lone surrogate, which UTF-8 cannot hold, is kept by the same
kind of escape; such values take a slower road. Two halves that make a pair come back as the one
character they stand for. NaN and infinities become null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

FORMAT = 2
"""The newest format of entries that is read here. Each is written in the oldest that holds it."""

_TOO_DEEP = "the value is nested too deeply: make it flatter"
_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="deterministic").encode
_dumps = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def encode(value: object) -> bytes:
    """`value`, a struct or plain data, as JSON.

    Raises TypeError for what is no data, ValueError for what is nested too deeply.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _escaped(value)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def canonical(value: object) -> bytes:
    """As `encode`, and the same for equal values, whatever the order of their keys."""
    try:
        return _canonical(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, str_keys=True)
        return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def decode(body: bytes, type_: type[T]) -> T:
    """The value of `type_` that `encode` wrote.

    Raises msgspec.ValidationError for another type's value, msgspec.DecodeError for no JSON.
    """
    return reader(type_)(body)


def reader(type_: type[T]) -> Callable[[bytes], T]:
    """`decode` for one type, which is looked up here and not for each body."""
    decoder: msgspec.json.Decoder[T] = _decoder(type_)  # type: ignore[arg-type]  # types hash
    return partial(_decoded, decoder, type_)


def _decoded(decoder: msgspec.json.Decoder[T], type_: type[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _unescaped(body, type_)
    except RecursionError:
        raise msgspec.DecodeError(_TOO_DEEP) from None


def convert(value: object, type_: type[T]) -> T:
    """A live or decoded `value` as `type_`; a live one of that type is handed on as it is."""
    if isinstance(type_, type) and isinstance(value, type_):
        return value
    return msgspec.convert(value, type_)


def _escaped(value: object) -> bytes:
    try:
        plain = msgspec.to_builtins(value, str_keys=True)
        try:
            text = _dumps(plain)
        except ValueError:
            text = _dumps(_finite(plain))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return text.encode()


def _unescaped(body: bytes, type_: type[T]) -> T:
    try:
        plain = json.loads(body.decode(), parse_constant=_refuse)
    except RecursionError:
        raise msgspec.DecodeError(_TOO_DEEP) from None
    except ValueError as error:
        raise msgspec.DecodeError(f"this is no JSON: {error}") from None
    try:
        return msgspec.convert(plain, type_)
    except UnicodeEncodeError as error:
        # A lone surrogate stands where another kind of value was expected.
        raise msgspec.ValidationError(str(error)) from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _finite(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(value) for value in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)
