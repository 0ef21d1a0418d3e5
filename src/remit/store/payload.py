"""How bodies are kept at rest: compressed, encrypted, both, or as somebody else's codec says."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any, Protocol

from remit.values.errors import ConfigError

LIMIT = 64 * 2**20
"""How many bytes a compressed body may come to when it is read, unless told."""

# Each codec marks what it made, and hands on what it did not make: so one can be added later.
_DEFLATED, _LEFT, _ENCRYPTED = b"\x01", b"\x02", b"\x03"
_WORTHWHILE = 64
_MAKE_ONE = "make one with `cryptography.fernet.Fernet.generate_key()`, and keep it safe"


class PayloadError(ValueError):
    """A body cannot be decoded; the message says why, and the mend."""


class Payload(Protocol):
    """Turns bodies into what is stored, and back."""

    def encode(self, body: bytes) -> bytes:
        """What is stored in the place of `body`, which may hold any bytes."""
        ...

    def decode(self, stored: bytes) -> bytes:
        """The body that `encode` was given. Raises PayloadError where that cannot be told."""
        ...


def made_by(stored: bytes) -> str:
    """What must be given to decode a body that is not decoded yet."""
    if stored[:1] == _ENCRYPTED:
        return "Encrypted(keys)"
    return "Compressed()" if stored[:1] in (_DEFLATED, _LEFT) else "the codec that wrote it"


class Compressed:
    """Bodies with zlib's compression; one that would not become shorter is left as it is.

    `level` is zlib's, from 1 to 9. A body that would come to more than `limit` bytes when it is
    read is refused, so that a few stored bytes cannot fill the memory; one that is longer when it
    is written is left as it is.
    """

    def __init__(self, *, level: int = 6, limit: int = LIMIT) -> None:
        if type(level) is not int or not 1 <= level <= 9:
            raise ConfigError(f"level must be from 1 to 9, not {level!r:.80}")
        if type(limit) is not int or limit < 1:
            raise ConfigError(f"limit must be a number of bytes, not {limit!r:.80}")
        self._level = level
        self._limit = limit

    def encode(self, body: bytes) -> bytes:
        if _WORTHWHILE <= len(body) <= self._limit:
            found = zlib.compress(body, self._level)
            if len(found) < len(body):
                return _DEFLATED + found
        return _LEFT + body

    def decode(self, stored: bytes) -> bytes:
        mark, rest = stored[:1], stored[1:]
        if mark == _LEFT:
            return rest
        if mark != _DEFLATED:
            return stored
        inflating = zlib.decompressobj()
        try:
            body = inflating.decompress(rest, self._limit + 1)
        except zlib.error as error:
            raise PayloadError(f"its compressed form is damaged ({error})") from None
        if len(body) > self._limit:
            raise PayloadError(
                f"it comes to more than {self._limit:,} bytes: give Compressed(limit=…) if that"
                " is what was written"
            )
        if not inflating.eof or inflating.unused_data:
            raise PayloadError("its compressed form is damaged (it has another end)")
        return body


class Encrypted:
    """Bodies encrypted and signed with Fernet (AES-128 in CBC mode, HMAC-SHA256).

    The first of `keys` encrypts, all of them decrypt: a new key goes in front, and the old one
    stays for as long as there are bodies of its time. A key is 32 random bytes in URL-safe
    base64, as `cryptography.fernet.Fernet.generate_key()` makes. What is not in bodies stays
    readable: ids, users, tenants, threads, names, times, amounts of money. Raises ConfigError for
    keys that are none, and where the library `cryptography` is missing.
    """

    def __init__(self, keys: str | bytes | Sequence[str | bytes]) -> None:
        fernet: Any = _fernet()
        given = [keys] if isinstance(keys, str | bytes) else list(keys)
        if not given:
            raise ConfigError(f"Encrypted needs a key: {_MAKE_ONE}")
        try:
            self._keys = fernet.MultiFernet([fernet.Fernet(key) for key in given])
        except (TypeError, ValueError):
            # Neither the key nor what was wrong about it belongs into a message.
            raise ConfigError(f"one of the keys is none: {_MAKE_ONE}") from None
        self._refused = fernet.InvalidToken

    def encode(self, body: bytes) -> bytes:
        return _ENCRYPTED + base64.urlsafe_b64decode(self._keys.encrypt(body))

    def decode(self, stored: bytes) -> bytes:
        if stored[:1] != _ENCRYPTED:
            return stored
        try:
            body: bytes = self._keys.decrypt(base64.urlsafe_b64encode(stored[1:]))
        except self._refused:
            raise PayloadError(
                "none of the keys decrypts it, or it is damaged: give the key that it was"
                " written with behind the newest one, Encrypted([newest, older])"
            ) from None
        return body


class Chain:
    """Several codecs, one after the other: `Chain(Compressed(), Encrypted(keys))` compresses,
    then encrypts, and reads what either of them wrote alone."""

    def __init__(self, *codecs: Payload) -> None:
        self._codecs = codecs

    def encode(self, body: bytes) -> bytes:
        for codec in self._codecs:
            body = codec.encode(body)
        return body

    def decode(self, stored: bytes) -> bytes:
        for codec in reversed(self._codecs):
            stored = codec.decode(stored)
        return stored


def _fernet() -> Any:
    try:
        from cryptography import fernet
    except ImportError:
        raise ConfigError(
            "encryption needs a library: pip install '.[encryption]' in a clone of remit"
        ) from None
    return fernet
