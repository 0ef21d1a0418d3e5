"""From a response's bytes to the pieces of JSON in it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from remit.models.wire.plain import is_deeper

DONE = b"[DONE]"
MOST_BYTES = 64 * 1024 * 1024
"""More than one event holds, or an answer that comes in one piece."""
DEEPEST = 200
"""What is deeper might be read, and then be too deep to be written again."""
_TOO_DEEP = "JSON that is nested too deeply"
_decode = msgspec.json.Decoder().decode


class Unreadable(ValueError):
    """The bytes are not what a server of this kind sends."""


class Events:
    """Server-sent events out of bytes that may be cut anywhere.

    Fields are split at bytes and never at characters, so that a character cut in two stays
    whole, and line separators inside of JSON text separate nothing.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._any = False

    def feed(self, received: bytes) -> Iterator[bytes]:
        """The data of the events that `received` completes."""
        if self._after_return and received:
            received, self._after_return = received.removeprefix(b"\n"), False
        if not received:
            return
        self._after_return = received.endswith(b"\r")
        cut = max(received.rfind(b"\n"), received.rfind(b"\r")) + 1
        if not cut:
            self._keep(received)
            return
        whole = bytes(self._line) + received[:cut]
        self._line = bytearray(received[cut:])
        for line in whole.splitlines():
            yield from self._take(line)

    def close(self) -> Iterator[bytes]:
        """The data of an event that the stream's end completes."""
        yield from self._take(bytes(self._line))
        yield from self._take(b"")

    def _keep(self, part: bytes) -> None:
        self._line += part
        if len(self._line) > MOST_BYTES:
            raise Unreadable(f"a line of more than {MOST_BYTES} bytes")

    def _take(self, line: bytes) -> Iterator[bytes]:
        if not self._any:
            line, self._any = line.removeprefix(b"\xef\xbb\xbf"), True
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                self._size += len(value)
                if self._size > MOST_BYTES:
                    raise Unreadable(f"an event of more than {MOST_BYTES} bytes")
        elif self._data:
            data, self._data, self._size = self._data, [], 0
            yield from _joined(data)


def read_json(data: bytes) -> object:
    """The JSON value in `data`; raises Unreadable for anything else."""
    try:
        found = _decode(data)
    except (msgspec.DecodeError, UnicodeError):
        # The standard library takes lone surrogates and NaN, which msgspec refuses.
        found = _read_leniently(data)
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    if data.count(b"{") + data.count(b"[") > DEEPEST and is_deeper(found, DEEPEST):
        raise Unreadable(_TOO_DEEP)
    return found


def _read_leniently(data: bytes) -> object:
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("a piece that is no JSON") from None


def _joined(data: list[bytes]) -> list[bytes]:
    """One event's lines as one text; as one each where a server left out the blank lines."""
    if len(data) > 1 and all(line.strip() == DONE or _is_json(line) for line in data):
        return data
    return [b"\n".join(data)]


def _is_json(line: bytes) -> bool:
    try:
        read_json(line)
    except Unreadable:
        return False
    return True
