"""Around llama.cpp: one start, turns, stops, and ends that everybody hears of."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from remit.models.local.engine import Answer, Engine
from remit.values.errors import ConnectionFailedError, ProviderError

Take = Callable[[object], bool]


class Server:
    """Gives `chunks` once it may, then goes on with pieces until it is told to stop."""

    def __init__(self, *chunks: object, endless: bool = False, error: Exception | None = None):
        self.chunks, self.endless, self.error = chunks, endless, error
        self.may = threading.Event()
        self.may.set()
        self.asked: list[Mapping[str, Any]] = []
        self.running = 0
        self.most = 0
        self.stopped = threading.Event()

    def handle_chat_completions(self, body: Mapping[str, Any], take: Take) -> None:
        self.asked.append(body)
        self.running += 1
        self.most = max(self.most, self.running)
        self.may.wait(5)
        if self.error is not None:
            raise self.error
        for chunk in self.chunks:
            take(chunk)
        while self.endless and not take({"more": 1}):
            pass
        self.running -= 1
        self.stopped.set()


async def all_of(engine: Engine) -> list[object]:
    async with engine.ask({}) as answer:
        await answer.begun()
        return await rest_of(answer)


async def rest_of(answer: Answer) -> list[object]:
    found = []
    while (chunk := await answer.next()) is not None:
        found.append(chunk)
    return found


async def test_many_requests_load_the_model_once() -> None:
    loads = []

    def load() -> Server:
        loads.append(1)
        return Server({"a": 1})

    engine = Engine(load, 2)

    found = await asyncio.gather(*(all_of(engine) for _ in range(5)))

    assert found == [[{"a": 1}]] * 5
    assert len(loads) == 1
    engine.close()


async def test_no_more_requests_are_worked_on_at_once_than_allowed() -> None:
    server = Server({"a": 1})
    engine = Engine(lambda: server, 2)

    await asyncio.gather(*(all_of(engine) for _ in range(6)))

    assert server.most <= 2
    assert len(server.asked) == 6
    engine.close()


async def test_who_leaves_stops_the_answer() -> None:
    server = Server(endless=True)
    engine = Engine(lambda: server, 1)

    async with engine.ask({}) as answer:
        await answer.begun()
        assert await answer.next() == {"more": 1}

    assert await asyncio.to_thread(server.stopped.wait, 5)
    engine.close()


async def test_who_leaves_before_its_turn_is_never_asked_for() -> None:
    server = Server({"a": 1})
    server.may.clear()
    engine = Engine(lambda: server, 1)
    async with engine.ask({}) as first:
        await first.begun()
        async with engine.ask({"second": True}):
            pass
        server.may.set()
        assert await first.next() == {"a": 1}

    await asyncio.to_thread(engine.close)
    assert {"second": True} not in server.asked


async def test_closing_stops_what_is_under_way_and_tells_those_who_wait() -> None:
    server = Server({"a": 1}, endless=True)
    engine = Engine(lambda: server, 1)
    async with engine.ask({}) as running, engine.ask({}) as waiting:
        await running.begun()
        await running.next()

        await asyncio.to_thread(engine.close)

        assert server.stopped.is_set()
        with pytest.raises(ConnectionFailedError, match="closed"):
            await waiting.begun()
        with pytest.raises(ConnectionFailedError, match="closed"):
            await rest_of(running)


async def test_a_closed_engine_loads_anew_when_it_is_asked_again() -> None:
    servers = [Server({"a": 1}), Server({"b": 2})]
    engine = Engine(lambda: servers.pop(0), 1)

    first = await all_of(engine)
    engine.close()
    second = await all_of(engine)
    engine.close()

    assert (first, second) == ([{"a": 1}], [{"b": 2}])


@pytest.mark.parametrize(("error", "status"), [(ValueError("no"), 400), (RuntimeError("no"), 500)])
async def test_what_llama_cpp_raises_is_a_providers_error(error: Exception, status: int) -> None:
    engine = Engine(lambda: Server(error=error), 1)

    with pytest.raises(ProviderError) as caught:
        await all_of(engine)

    assert (caught.value.status, caught.value.message) == (status, "no")
    engine.close()


def test_a_loop_that_is_gone_stops_the_answer() -> None:
    server = Server(endless=True)
    engine = Engine(lambda: server, 1)

    async def leave() -> None:
        asking = engine.ask({})
        answer = await asking.__aenter__()
        await answer.begun()
        kept.append(asking)  # nobody leaves it in order

    kept: list[Any] = []
    asyncio.run(leave())

    assert server.stopped.wait(5)
    engine.close()


async def test_closing_does_not_wait_for_a_model_that_is_being_loaded() -> None:
    loads, may = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def load() -> Server:
        loop.call_soon_threadsafe(loads.set)
        assert may.wait(5)
        return Server({"a": 1})

    engine = Engine(load, 1)
    asking = asyncio.create_task(all_of(engine))
    await loads.wait()
    engine.close(wait=False)
    assert not may.is_set()
    may.set()

    with pytest.raises(ConnectionFailedError, match="closed"):
        await asking
    assert await all_of(engine) == [{"a": 1}]
    engine.close()
