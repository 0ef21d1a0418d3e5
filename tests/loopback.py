"""A server on loopback that answers by a script, cuts where it is told to and keeps what it got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Reply:
    """An answer, sent in these pieces, `pause` seconds apart. Status 0 sends nothing at all.

    `ending` is what follows them: the end of the response, the end of the connection without
    one (`cut`), nothing (`hang`), the last piece again and again (`repeat`), or the end of a
    response of unsaid length (`close`).
    """

    pieces: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: SSE)
    ending: Literal["end", "cut", "hang", "repeat", "close"] = "end"
    pause: float = 0.0


@dataclass(frozen=True)
class Sent:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text, parse_constant=_refuse)


class Loopback:
    """The n-th request gets the n-th reply, or what `answer` makes of it."""

    def __init__(
        self, replies: Iterable[Reply], answer: Callable[[Sent], Reply] | None = None
    ) -> None:
        self.replies = list(replies)
        self.answer = answer
        self.requests: list[Sent] = []
        self.connections = 0
        self.asked = asyncio.Event()
        """Set when a request has come."""
        self.left = asyncio.Event()
        """Set when a client went away from a reply that hangs."""
        self.port = 0
        self._open: dict[asyncio.StreamWriter, asyncio.Event] = {}

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open[writer] = asyncio.Event()
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self._open.pop(writer).set()

    async def close(self) -> None:
        """Drop every connection, and wait until its task is over."""
        for writer, over in list(self._open.items()):
            writer.transport.abort()
            await over.wait()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        sent = await _read(reader)
        number = len(self.requests)
        self.requests.append(sent)
        reply = self._reply(number, sent)
        self.asked.set()
        if reply.status:
            writer.write(_head(reply))
        for piece in reply.pieces:
            await _write(writer, piece, reply)
        while reply.ending == "repeat" and not reader.at_eof():
            await _write(writer, reply.pieces[-1], reply)
        if reply.ending == "end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        if reply.ending == "hang":
            await reader.read()
            self.left.set()
        return False

    def _reply(self, number: int, sent: Sent) -> Reply:
        if self.answer is not None:
            return self.answer(sent)
        if number >= len(self.replies):
            raise AssertionError(f"nobody scripted a reply to request {number}: {sent.text[:500]}")
        return self.replies[number]


@asynccontextmanager
async def loopback(
    *replies: Reply, answer: Callable[[Sent], Reply] | None = None
) -> AsyncIterator[Loopback]:
    """A running server; leaving stops it."""
    server = Loopback(replies, answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.close()


def events(*chunks: object, done: bool = True) -> bytes:
    """Chunks as server-sent events."""
    lines = [f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}" for chunk in chunks]
    return "".join(f"{line}\n\n" for line in [*lines, *(["data: [DONE]"] if done else [])]).encode()


def stream(*chunks: object, done: bool = True) -> Reply:
    """A reply of server-sent events, one piece each."""
    parts = [events(chunk, done=False) for chunk in chunks]
    return Reply([*parts, *([events()] if done else [])])


def plain(body: object, status: int = 200, **headers: str) -> Reply:
    """A reply of one JSON value; headers are named with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([json.dumps(body).encode()], status, JSON | named)


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of one choice."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def _head(reply: Reply) -> bytes:
    framing = "connection: close" if reply.ending == "close" else "transfer-encoding: chunked"
    lines = [f"HTTP/1.1 {reply.status} Scripted", framing]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


async def _write(writer: asyncio.StreamWriter, piece: bytes, reply: Reply) -> None:
    writer.write(piece if reply.ending == "close" else b"%x\r\n%b\r\n" % (len(piece), piece))
    await writer.drain()
    if reply.pause:
        await asyncio.sleep(reply.pause)


async def _read(reader: asyncio.StreamReader) -> Sent:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *rest = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (r.partition(":") for r in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Sent(first.split()[1], headers, body.decode())


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} on the wire")
