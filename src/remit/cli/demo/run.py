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
from remit.cli.demo.orders import ORDERS
from remit.cli.demo.screen import Beat, Screen
from remit.cli.demo.speaker import opened
from remit.cli.demo.stage import Stage
from remit.cli.demo.story import Seen, Story
from remit.cli.demo.timeline import PATIENCE, Timeline
from remit.cli.models import Wanted, ready
from remit.cli.render.wording import count, one_line
from remit.cli.sight import look
from remit.models.protocol import Model
from remit.store.connect import connect
from remit.values.clock import SystemClock

_RULES = (
    "The model here is a set of rules and not a language model: it needs no key and no",
    "network, and sees nothing but the request. Its prices are made up.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command was told: a file of messages, a model, a folder, whether to speak JSON."""

    messages: Path | None = None
    model: Wanted | None = None
    folder: Path | None = None
    json: bool = False


async def demo(options: Options) -> int:
    """Play the demo; 0 if everything was as it must be, else 1.

    Raises ConfigError for messages, a model or a folder that it cannot begin with.
    """
    asked = messages.shipped() if options.messages is None else messages.of_file(options.messages)
    model = await ready(options.model) if options.model else None
    place = stage.build(options.folder, options.model)
    scripted = options.messages is None and model is None
    with opened(options.json) as screen:
        _introduce(screen, place, asked, shipped=options.messages is None)
        seen, kept, runs = await _play(screen, place, asked, model)
        screen.show(books.page(kept), books.values(kept))
        wrong = books.problems(kept, seen, shipped=scripted)
        _look_further(screen, place, runs, seen)
        return _conclude(screen, place, wrong, _well(kept, seen))


async def _play(
    screen: Screen, place: Stage, asked: Sequence[CustomerMessage], model: Model | None
) -> tuple[Seen, Books, Mapping[str, CustomerMessage]]:
    """The story, the books after it, and the runs with their messages."""
    store = connect(place.store, SystemClock())
    try:
        desk = help_desk(model=model)
        async with App(agents=[desk], store=store, grant=GRANT, work=False) as app:
            runs = await _start(app, asked)
            queued = f"{count(len(runs), 'run')} queued, each with its own thread and user."
            screen.tell(Beat("started", queued, facts={"runs": len(runs)}))
            timeline = Timeline(app, screen, runs, PATIENCE * (4 if model else 1))
            seen = await Story(app, place, screen, timeline).play()
            sights = [(one, await look(app, store, run)) for run, one in runs.items()]
    finally:
        await store.close()
    return seen, books.keep(sights, place.orders, books.rates(model)), runs


def _introduce(
    screen: Screen, place: Stage, asked: Sequence[CustomerMessage], *, shipped: bool
) -> None:
    screen.chapter(f"A help desk with {count(len(asked), 'message')}")
    for line in _RULES if place.model is None else _asked(place.model):
        screen.tell(Beat("model", line, "waiting"))
    screen.tell(
        Beat(
            "folder",
            f"Both databases, of the runs and of the shop, are in {place.folder} and stay there.",
            facts={"folder": str(place.folder), "store": place.store},
        )
    )
    if not shipped:
        screen.tell(Beat("orders", f"The orders there are, each with its user: {ORDERS}", "dim"))


def _asked(model: Wanted) -> Sequence[str]:
    """What there is to know of a real model."""
    where = f" at {model.base_url}" if model.base_url else ""
    first = f"The model is {one_line(model.name)}{where}: what it does differs from time to time."
    return [first] if model.pricing else [first, "No rates are declared: no cost is shown."]


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
