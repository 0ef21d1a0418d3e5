"""The floor: an agent loop with no framework at all, and the same with a journal.

It does what any such loop must: ask the model, check the arguments, call the tool, go on. The
durable ones store each effect before the next: every answer before its tools run, every result
as it comes, so as many commits as remit makes.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel

Message = dict[str, Any]
Model = Callable[[list[Message]], Awaitable[Message]]
Save = Callable[[str, int, bytes], Awaitable[None]]

INSERT = "INSERT INTO journal(run, seq, body) VALUES (?, ?, ?)"


class Arguments(BaseModel):
    city: int
    name: str


async def look_up(city: int, name: str) -> str:
    return f"{name} is city {city}"


def scripted(tool_turns: int, delay: float = 0.0) -> Model:
    """Asks for one call `tool_turns` times, and then answers."""

    async def model(messages: list[Message]) -> Message:
        if delay:
            await asyncio.sleep(delay)
        done = sum(1 for message in messages if message["role"] == "tool")
        if done == tool_turns:
            return {"role": "assistant", "content": "done"}
        arguments = json.dumps({"city": done, "name": "Oslo"})
        call = {"id": f"call-{done}", "name": "look_up", "arguments": arguments}
        return {"role": "assistant", "content": "", "calls": [call]}

    return model


async def bare(model: Model) -> str:
    """One run, kept nowhere."""
    messages: list[Message] = [{"role": "user", "content": "go"}]
    while True:
        answer = await model(messages)
        messages.append(answer)
        if "calls" not in answer:
            return str(answer["content"])
        for call in answer["calls"]:
            messages.append(await _result(call))


async def durable(model: Model, save: Save) -> None:
    """One run, each effect saved before the next: a question, then every answer and result."""
    run, seq = uuid.uuid4().hex, 1
    messages: list[Message] = [{"role": "user", "content": "go"}]
    await save(run, 0, json.dumps(messages[0]).encode())
    while True:
        answer = await model(messages)
        messages.append(answer)
        await save(run, seq, json.dumps(answer).encode())
        seq += 1
        if "calls" not in answer:
            return
        for call in answer["calls"]:
            result = await _result(call)
            messages.append(result)
            await save(run, seq, json.dumps(result).encode())
            seq += 1


async def _result(call: Message) -> Message:
    arguments = Arguments.model_validate_json(call["arguments"])
    return {
        "role": "tool",
        "id": call["id"],
        "content": await look_up(arguments.city, arguments.name),
    }


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE journal(run TEXT, seq INTEGER, body BLOB, PRIMARY KEY(run, seq))")
    return db


@asynccontextmanager
async def grouped(path: Path) -> AsyncIterator[Save]:
    """A journal in SQLite, on one thread that commits all that waits for it together."""
    db, loop = _open(path), asyncio.get_running_loop()
    waiting: queue.SimpleQueue[tuple[tuple[str, int, bytes], asyncio.Future[None]] | None]
    waiting = queue.SimpleQueue()

    def finish(futures: list[asyncio.Future[None]]) -> None:
        for future in futures:
            future.set_result(None)

    def work() -> None:
        while (item := waiting.get()) is not None:
            batch = [item]
            while not waiting.empty() and (item := waiting.get()) is not None:
                batch.append(item)
            db.execute("BEGIN IMMEDIATE")
            db.executemany(INSERT, [row for row, _ in batch])
            db.execute("COMMIT")
            loop.call_soon_threadsafe(finish, [future for _, future in batch])

    async def save(run: str, seq: int, body: bytes) -> None:
        future = loop.create_future()
        waiting.put(((run, seq, body), future))
        await future

    thread = threading.Thread(target=work)
    thread.start()
    yield save
    waiting.put(None)
    await asyncio.to_thread(thread.join)
    db.close()
