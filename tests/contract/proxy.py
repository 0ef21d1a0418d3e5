"""Stands between a store and its server, and cuts the line where a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from psycopg.conninfo import conninfo_to_dict, make_conninfo

Cut = Literal["before", "after"]


@dataclass
class Proxy:
    """Passes everything on, but for the next request that holds `mark`.

    That one is lost `before` it arrives, or its answer is `after` it was carried out; either way
    the line is cut, once. Nothing passes unless it is `flowing`.
    """

    target: str
    port: int = 0
    mark: bytes = b""
    cut: Cut | None = None
    cuts: int = 0
    was_cut: asyncio.Event = field(default_factory=asyncio.Event)
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _lines: set[asyncio.StreamWriter] = field(default_factory=set)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def address(self) -> str:
        """The server's address, by way of this proxy."""
        return make_conninfo(self.target, host="127.0.0.1", port=self.port, sslmode="disable")

    def arm(self, cut: Cut, mark: bytes) -> None:
        self.cut, self.mark = cut, mark

    def cut_all(self) -> None:
        """Cut every line there is, as it stands."""
        for line in self._lines:
            line.transport.abort()

    async def end(self) -> None:
        """Cut every line, and return when nothing of this proxy goes on."""
        self.flowing.set()
        self.cut_all()
        if self._serving:
            await asyncio.wait(self._serving)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            there, back = await self._reach()
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

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        given = conninfo_to_dict(self.target)
        host, port = str(given["host"]), given.get("port", 5432)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
        spoiled: asyncio.Event,
        ends: set[asyncio.StreamWriter],
    ) -> None:
        with suppress(OSError):
            while sent := await reader.read(1 << 20):
                await self.flowing.wait()
                if self.cut is not None and self.mark in sent:
                    self.cuts += 1
                    self.was_cut.set()
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
                await self.flowing.wait()
                client.write(answer)
        _abort(ends)


def _abort(ends: set[asyncio.StreamWriter]) -> None:
    for end in ends:
        end.transport.abort()


@asynccontextmanager
async def proxying(target: str) -> AsyncIterator[Proxy]:
    """A proxy on a free port before the server at the address `target`."""
    proxy = Proxy(target)
    proxy.flowing.set()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.end()
