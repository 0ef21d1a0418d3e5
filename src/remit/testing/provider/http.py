"""The little of HTTP/1.1 that a provider on loopback needs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from remit.testing.provider.refusal import Body
from remit.testing.provider.script import Sent

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"


class Cut(Exception):
    """The connection is to be cut here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A status, and what is sent under it, piece by piece. Status 0 sends nothing at all."""

    status: int = 200
    kind: str = EVENTS
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: AsyncIterator[bytes]


def json_response(body: Body, status: int = 200, **headers: str) -> Response:
    """A response of one JSON object."""
    return Response(
        status=status, kind=JSON, headers=headers, pieces=_once(json.dumps(body).encode())
    )


class Listener:
    """Serves on a free port of 127.0.0.1, and answers each request by `respond`."""

    def __init__(self, respond: Callable[[Sent], Awaitable[Response]]) -> None:
        self.port = 0
        self._respond = respond
        self._open: dict[asyncio.StreamWriter, asyncio.Event] = {}
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Drop every connection, and wait until its task is over."""
        if self._server is not None:
            self._server.close()
        for writer, over in list(self._open.items()):
            writer.transport.abort()
            await over.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.Event()
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, Cut):
                while True:
                    await _send(writer, await self._respond(await _read(reader)))
        finally:
            writer.transport.abort()
            self._open.pop(writer).set()


async def _send(writer: asyncio.StreamWriter, response: Response) -> None:
    if not response.status:
        raise Cut
    lines = [f"HTTP/1.1 {response.status} Scripted", "transfer-encoding: chunked"]
    lines += [f"content-type: {response.kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in response.headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        async for piece in response.pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
    except Cut:
        # What was written must arrive before the end does: aborted it would be lost.
        writer.close()
        await writer.wait_closed()
        raise
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Sent:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *rest = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (r.partition(":") for r in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Sent(first.split()[1], headers, body.decode("utf-8", "surrogatepass"))


async def _once(piece: bytes) -> AsyncIterator[bytes]:
    yield piece
