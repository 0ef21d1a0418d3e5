"""`remit demo`: the whole of it, chapter by chapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit.app import App
from remit.cli import invocation, status
from remit.cli.demo import books, messages, stage
from remit.cli.demo.agent import GRANT, help_desk
from remit.cli.demo.books import Books
from remit.cli.demo.messages import CustomerMessage
from remit.cli.demo.screen import Beat, Screen
from remit.cli.demo.speaker import opened
from remit.cli.demo.stage import Stage
from remit.cli.demo.story import Seen, Story
from remit.cli.demo.timeline import Timeline
from remit.cli.sight import look
from remit.cli.wording import count
from remit.store.connect import connect
from remit.values.clock import SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command was told: a file of messages, a folder, and whether to speak JSON."""

    messages: Path | None = None
    folder: Path | None = None
    json: bool = False


async def demo(options: Options) -> int:
    """Play the demo; 0 if everything was as it must be, else 1.

    Raises ConfigError for messages or a folder that it cannot begin with.
    """
    asked = messages.shipped() if options.messages is None else messages.of_file(options.messages)
    place = stage.build(options.folder)
    with opened(options.json) as screen:
        _introduce(screen, place, asked)
        seen, kept, runs = await _play(screen, place, asked)
        screen.show(books.page(kept), books.values(kept))
        wrong = books.problems(kept, seen, shipped=options.messages is None)
        _look_further(screen, place, runs, seen)
        return _conclude(screen, place, wrong, _well(kept, seen))


async def _play(
    screen: Screen, place: Stage, asked: Sequence[CustomerMessage]
) -> tuple[Seen, Books, Mapping[str, CustomerMessage]]:
    """The story, the books after it, and the runs with their messages."""
    store = connect(place.store, SystemClock())
    try:
        async with App(agents=[help_desk()], store=store, grant=GRANT, work=False) as app:
            runs = await _start(app, asked)
            queued = f"{count(len(runs), 'run')} queued, each with its own thread and user."
            screen.tell(Beat("started", queued, facts={"runs": len(runs)}))
            seen = await Story(app, place, screen, Timeline(app, screen, runs)).play()
            sights = [(one, await look(app, store, run)) for run, one in runs.items()]
    finally:
        await store.close()
    return seen, books.keep(sights, place.orders), runs


def _introduce(screen: Screen, place: Stage, asked: Sequence[CustomerMessage]) -> None:
    screen.chapter(f"A help desk with {count(len(asked), 'message')}")
    for line in (
        "The model here is a set of rules and not a language model: it needs no key and no",
        "network, and sees nothing but the request. Its prices are made up.",
    ):
        screen.tell(Beat("model", line, "waiting"))
    screen.tell(
        Beat(
            "folder",
            f"Both databases, of the runs and of the shop, are in {place.folder} and stay there.",
            facts={"folder": str(place.folder), "store": place.store},
        )
    )


async def _start(app: App, asked: Sequence[CustomerMessage]) -> dict[str, CustomerMessage]:
    """A durable run for each message."""
    return {await app.start("desk", one.text, user=one.user, thread=one.id): one for one in asked}


def _look_further(
    screen: Screen, place: Stage, runs: Mapping[str, CustomerMessage], seen: Seen
) -> None:
    screen.chapter("Look further")
    cut = seen.cut.key.partition("/")[0] if seen.cut else next(iter(runs))
    lines = [
        invocation.line("runs", "list", store=place.store),
        invocation.line("runs", "show", cut, store=place.store),
    ]
    for line in lines:
        screen.tell(Beat("further", line, "strong", {"line": line}))


def _well(kept: Books, seen: Seen) -> str:
    """What was shown, where nothing went wrong."""
    if not seen.killed:
        return "Every run ended as it must. With no refund there was no moment to kill a worker in."
    made = count(len(kept.refunds), "refund")
    return (
        f"Everything was as it must be: {made} for {count(kept.entries, 'entry', 'entries')} of the"
        " tool's body, and no customer was paid twice."
    )


def _conclude(screen: Screen, place: Stage, wrong: Sequence[str], well: str) -> int:
    screen.chapter("Not as it must be" if wrong else "Done")
    for problem in wrong:
        screen.tell(Beat("problem", problem, "bad"))
    failed = f"The demo failed; its databases and logs are in {place.folder}."
    facts = {"ok": not wrong, "problems": list(wrong)}
    screen.tell(Beat("end", failed if wrong else well, "bad" if wrong else "good", facts))
    return status.FAILED if wrong else status.OK
