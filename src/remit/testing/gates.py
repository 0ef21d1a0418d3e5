"""Where a run is held: before each model call and each tool, and at the next record."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import fields
from typing import Any, Literal

from remit.agent.agent import Agent
from remit.models.protocol import Card, Model
from remit.models.request import Chunk, ModelRequest
from remit.store.protocol import Store
from remit.store.records import Append, Appended, Fenced, Held, News
from remit.testing.crash import Crash, CrashStore
from remit.tools.context import ToolContext
from remit.tools.tool import Tool

Kind = Literal["model", "tool"]
Moment = Literal["before", "after"]


class Stand:
    """A model call (`name` is the model's) or a tool's call that waits to be let through."""

    def __init__(self, kind: Kind, name: str, call_id: str = "") -> None:
        self.kind, self.name, self.call_id = kind, name, call_id
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Gates:
    """The gates of one life of a process. `changed` is told of everything that comes to one."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.standing: list[Stand] = []
        self.loop = asyncio.get_running_loop()
        self._changed = changed
        self._dead = False

    async def stop_at(self, kind: Kind, name: str, call_id: str = "") -> None:
        """Wait to be let through. Raises Crash once the process is dead."""
        if self._dead:
            raise Crash("the process is dead")
        stand = Stand(kind, name, call_id)
        self.standing.append(stand)
        self._changed()
        try:
            await stand.opened
        finally:
            if stand in self.standing:
                self.standing.remove(stand)
            self._changed()

    def open(self, stand: Stand) -> None:
        """Let one through."""
        self.standing.remove(stand)
        stand.opened.set_result(None)

    def die(self) -> None:
        """Let nobody through any more."""
        self._dead = True
        for stand in self.standing:
            if not stand.opened.done():
                stand.opened.set_exception(Crash("the process is dead"))


class GatedModel:
    """A model that stands at the gate before each of its calls."""

    def __init__(self, model: Model, gates: Gates) -> None:
        self._model = model
        self._gates = gates

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def card(self) -> Card:
        return self._model.card

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, once it is let through."""
        await self._gates.stop_at("model", self.name)
        async with aclosing(self._model.stream(request)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                yield chunk


class GatedTool(Tool):
    """A tool that stands at the gate before each of its calls."""

    __slots__ = ("_gates", "_tool")
    _gates: Gates
    _tool: Tool

    def __init__(self, tool: Tool, gates: Gates) -> None:
        given = {field.name: getattr(tool, field.name) for field in fields(Tool)}
        for name, value in {**given, "_tool": tool, "_gates": gates}.items():
            object.__setattr__(self, name, value)

    def call(self, checked: Any, context: ToolContext[Any]) -> Any:
        """Call it, once it is let through."""
        if self.is_async:
            return self._later(checked, context)
        stop = self._gates.stop_at("tool", self.name, context.call_id)
        asyncio.run_coroutine_threadsafe(stop, self._gates.loop).result()
        return self._tool.call(checked, context)

    async def _later(self, checked: Any, context: ToolContext[Any]) -> Any:
        await self._gates.stop_at("tool", self.name, context.call_id)
        return await self._tool.call(checked, context)


class MortalStore(CrashStore):
    """A process's view of a store, which dies when it is told to: at once (`dead`), or before or
    after the next record of a step (`doom`)."""

    def __init__(self, store: Store, changed: Callable[[], None]) -> None:
        super().__init__(store, at=None)
        self.doom: Moment | None = None
        self.beats = 0
        self._changed = changed

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        self._strike("before")
        found = await super().append(batch)
        self._strike("after")
        return found

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced | News:
        found = await super().transact(item, self._mortal(work))
        self._strike("after")
        return found

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        held = await super().beat(worker, lasts, join=join)
        self.beats += 1
        self._changed()
        return held

    def _mortal(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`work`, whose transaction is never committed by a process that dies before that."""

        async def last(made: Any) -> Any:
            done = await made
            self._strike("before")
            return done

        def call(tx: Any) -> Any:
            made = work(tx)
            return last(made) if inspect.isawaitable(made) else made

        return call

    def _strike(self, moment: Moment) -> None:
        if self.doom == moment:
            self.dead = True
            self._changed()
        self._live()

    def _live(self) -> None:
        if self.dead:
            raise Crash("the process is dead")


def gated(agent: Agent[Any, Any], gates: Gates) -> Agent[Any, Any]:
    """The same agent, whose models and tools stand at `gates`. A transactional tool that is
    synchronous does not: it runs on the thread that the whole store waits for."""
    catalogue = agent.catalogue
    found = [catalogue.model(it) if isinstance(it, str) else it for it in agent.models]
    tools = [
        tool if tool.transactional and not tool.is_async else GatedTool(tool, gates)
        for tool in agent.tools
    ]
    return agent.replace(model=[GatedModel(model, gates) for model in found], tools=tools)
