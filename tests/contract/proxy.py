"""Stands between a store and its server, and cuts the line where a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Cut = Literal["before", "after"]


@dataclass
class Proxy:
    """Passes everything on, but for the next request that holds `mark`.

    That one is lost `before` it arrives, or its answer is `after` it was carried out; either way
    the line is cut, once. While `frozen` nothing passes, and nothing is cut.
    """

    target: Path
    port: int = 0
    mark: bytes = b""
    cut: Cut | None = None
    cuts: int = 0
    frozen: bool = False
    _lines: set[asyncio.StreamWriter] = field(default_factory=set)

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def arm(self, cut: Cut, mark: bytes) -> None:
        self.cut, self.mark = cut, mark

    def cut_all(self) -> None:
        """Cut every line there is, as it stands."""
        for line in self._lines:
            line.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, back}
        self._lines |= ends
        spoiled = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._requests(reader, back, spoiled, ends))
                tasks.create_task(self._answers(there, writer, spoiled, ends))
        finally:
            self._lines -= ends
            for end in ends:
                end.transport.abort()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
        spoiled: asyncio.Event,
        ends: set[asyncio.StreamWriter],
    ) -> None:
        with suppress(OSError):
            while sent := await reader.read(1 << 20):
                while self.frozen:
                    await asyncio.sleep(0.01)
                if self.cut is not None and self.mark in sent:
                    self.cuts += 1
                    cut, self.cut = self.cut, None
                    if cut == "before":
                        break
                    spoiled.set()
                server.write(sent)
        if not spoiled.is_set():
            _abort(ends)

    async def _answers(
        self,
        reader: asyncio.StreamReader,
        client: asyncio.StreamWriter,
        spoiled: asyncio.Event,
        ends: set[asyncio.StreamWriter],
    ) -> None:
        with suppress(OSError):
            while (answer := await reader.read(1 << 20)) and not spoiled.is_set():
                while self.frozen:
                    await asyncio.sleep(0.01)
                client.write(answer)
        _abort(ends)


def _abort(ends: set[asyncio.StreamWriter]) -> None:
    for end in ends:
        end.transport.abort()


@asynccontextmanager
async def proxying(target: Path) -> AsyncIterator[Proxy]:
    """A proxy on a free port before the server behind the Unix socket `target`."""
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.frozen = False
        proxy.cut_all()
        await asyncio.sleep(0)
