"""`remit chat`: a conversation on a thread, one message a line."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Protocol

from remit.agent.agent import Agent
from remit.agent.budget import Budget
from remit.app import App
from remit.cli import status, wire
from remit.cli.models import Wanted, ready
from remit.cli.render import output
from remit.cli.render.lines import Interrupted, Lines
from remit.cli.render.page import Line
from remit.cli.render.wording import money, one_line, shown
from remit.models.protocol import Model
from remit.models.request import Chunk, ModelRequest
from remit.values import ids
from remit.values.events import DoneEvent, Event, FallbackEvent, RetryEvent, TextEvent, TurnEvent
from remit.values.results import Run

NAME = "chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command was told."""

    model: Wanted
    instructions: str = ""
    store: str = "memory:"
    thread: str | None = None
    turns: int = 8
    json: bool = False


class Gate:
    """A model that says nothing before anybody listens."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.card = model.card
        self._model = model
        self._free = asyncio.Event()
        self._free.set()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The model's answer, once the gate is open."""
        await self._free.wait()
        stream = self._model.stream(request)
        async with aclosing(stream) as chunks:  # type: ignore[type-var]  # adapters are generators
            async for chunk in chunks:
                yield chunk

    def open(self) -> None:
        """Somebody listens."""
        self._free.set()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Closed from here on, until it is opened or the block is left."""
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()


class Listener(Protocol):
    """Whoever reads the conversation."""

    def ask(self) -> None:
        """The next message may be written."""
        ...

    def hear(self, event: Event) -> None:
        """Something happened in a run."""
        ...

    def close(self, run: Run) -> None:
        """The run has ended."""
        ...


async def chat(options: Options) -> int:
    """Talk until the input ends; the first exit status that is not 0, or 0.

    Raises ConfigError before the first message for what cannot work.
    """
    # What a run failed of is told below; the log would only say it again.
    logging.getLogger("remit").addHandler(logging.NullHandler())
    gate = Gate(await ready(options.model))
    agent = Agent[None, str](
        name=NAME,
        version=_version(options),
        model=gate,
        instructions=options.instructions,
        budget=Budget(turns=options.turns),
    )
    thread = options.thread or ids.new("chat")
    lines, listener = Lines(), _listener(options.json, thread)
    code = status.OK
    async with App(agents=[agent], store=options.store) as app:
        with lines.taking_interrupts():
            try:
                while (text := await _line(lines, listener)) is not None:
                    with gate.closed():
                        run = await app.start(NAME, text, thread=thread)
                        ended = await _answer(app, gate, listener, lines, run)
                    code = code or status.of_run(ended.status, ended.finish)
            except Interrupted:
                return status.INTERRUPTED
    return code


def _version(options: Options) -> str:
    """Of two chats on one store each drives its own runs, unless they are set up the same."""
    model = options.model
    told = "\0".join((model.name, model.base_url or "", options.instructions, str(options.turns)))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


async def _line(lines: Lines, listener: Listener) -> str | None:
    listener.ask()
    return await lines.next()


async def _answer(app: App, gate: Gate, listener: Listener, lines: Lines, run: str) -> Run:
    """One message's run, shown as it goes. Ctrl-C cancels it, and the conversation goes on."""
    with lines.busy() as pressed:
        async with asyncio.TaskGroup() as tasks:
            cancelling = tasks.create_task(_cancel_on(pressed, app, run))
            tasks.create_task(_open_when_read(app, gate, run))
            async for event in app.events(run):
                listener.hear(event)
            cancelling.cancel()
    ended = await app.get(run)
    listener.close(ended)
    return ended


async def _open_when_read(app: App, gate: Gate, run: str) -> None:
    """Let the model speak once its words are listened to: reading a run twice takes longer than
    the one read after which its events are."""
    await app.get(run)
    await app.get(run)
    gate.open()


async def _cancel_on(pressed: asyncio.Event, app: App, run: str) -> None:
    await pressed.wait()
    await app.cancel(run, reason="Ctrl-C")


def _listener(json: bool, thread: str) -> Listener:
    form = output.form(json)
    if form == "json":
        return JsonListener(thread)
    return TextListener(thread, terminal=form == "terminal" and sys.stdin.isatty())


class JsonListener:
    """A JSON line for each piece of text, each failure of the model and each end."""

    def __init__(self, thread: str) -> None:
        self._thread = thread

    def ask(self) -> None:
        return

    def hear(self, event: Event) -> None:
        if isinstance(event, TextEvent) and event.text:
            output.json_line({"kind": "text", "text": event.text})
        elif isinstance(event, RetryEvent | FallbackEvent):
            told = {"kind": event.kind, "model": event.model, "failure": event.failure}
            then = {"wait": event.wait} if isinstance(event, RetryEvent) else {"next": event.next}
            output.json_line({**told, "status": event.status, "error": event.error, **then})

    def close(self, run: Run) -> None:
        output.json_line(
            {
                "kind": "done",
                "run": run.id,
                "thread": self._thread,
                "status": run.status,
                "finish": run.finish,
                "error": run.error,
                "text": run.text,
                "usage": wire.usage(run.usage),
            }
        )


class TextListener:
    """Text as it comes; in a terminal a prompt before it, and what it used after it."""

    def __init__(self, thread: str, *, terminal: bool) -> None:
        self._terminal = terminal
        self._told = ""
        self._next = 0
        self._talking = False
        if terminal:
            self._write(f"Thread {thread}. Ctrl-C stops an answer, Ctrl-D ends the talk.\n")

    def ask(self) -> None:
        if self._terminal:
            self._write("\n> ")

    def hear(self, event: Event) -> None:
        match event:
            case TextEvent(delta_id=number, text=text):
                # A piece that was missed leaves the rest to the whole text that follows.
                if number == self._next:
                    self._next += 1
                    self._told += text
                    self._say(text)
            case TurnEvent(record=record):
                told, self._told, self._next = self._told, "", 0
                if not record.text.startswith(told):
                    self._write("\n")
                    told = ""
                self._say(record.text[len(told) :])
            case RetryEvent() | FallbackEvent():
                self._end_line()
                self._note(_told(event))
            case DoneEvent():
                self._told, self._next = "", 0
                self._end_line()
            case _:
                return

    def close(self, run: Run) -> None:
        if run.status != "succeeded":
            why = run.error or run.reason or run.finish or "without a word"
            self._complain(f"{run.status}: {one_line(why)}")
        if self._terminal:
            used = run.usage
            cost = "" if used.cost is None else f", cost {money(used.cost)}"
            about = " (estimated)" if used.estimated else ""
            self._write(f"[{used.input_tokens} in, {used.output_tokens} out{about}{cost}]\n")

    def _end_line(self) -> None:
        self._write("\n" if self._talking else "")
        self._talking = False

    def _note(self, text: str) -> None:
        """Tell what keeps the answer waiting; a pipe takes the answers alone."""
        if self._terminal:
            output.show([Line(f"[{text}]", "dim")], [], json=False)
        else:
            self._complain(text)

    def _say(self, text: str) -> None:
        self._talking = self._talking or bool(text)
        self._write(shown(text))

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()

    def _complain(self, text: str) -> None:
        sys.stderr.write(f"remit: {text}\n")
        sys.stderr.flush()


def _told(event: RetryEvent | FallbackEvent) -> str:
    """A failure, and what follows it, on a line."""
    status = "" if event.status is None else f" {event.status}"
    if isinstance(event, FallbackEvent):
        then = f"{event.next} takes over"
    else:
        then = "asking again" + (f" in {event.wait:.1f} s" if event.wait else "")
    return one_line(f"{event.model}: {event.failure}{status}, {then}")
