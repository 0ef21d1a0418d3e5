"""JSON that stands bare between a stream's events."""

from __future__ import annotations

from collections.abc import AsyncIterator

from remit.models.wire.events import MOST_BYTES, Unreadable

_BARE = b'{}[],"\t '


async def events_alone(received: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """`received`, with all JSON that stands in it outside of events as one event more at the end:
    an error that ends a stream, or a whole answer of a server that knows no streams.

    No line of an event begins as such JSON does. Whatever is cut off ends the same as it came.
    """
    bare = bytearray()
    at_start, is_bare = True, False
    async for piece in received:
        passed = bytearray()
        for line in piece.splitlines(keepends=True) if b"\n" in piece else [piece]:
            if at_start and line:
                is_bare = line[:1] in _BARE
            (bare if is_bare else passed).extend(line)
            at_start = line.endswith(b"\n")
        if len(bare) > MOST_BYTES:
            raise Unreadable(f"JSON of more than {MOST_BYTES} bytes")
        if passed:
            yield bytes(passed)
    if bare:
        yield b"\n\ndata: " + b" ".join(bare.splitlines()) + b"\n\n"
