"""The `runs` commands that steer runs: messages, answers, forks and replays."""

from __future__ import annotations

import json as json_
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from remit.app.forking import NothingToAnswerError
from remit.app.starting import StartOptions
from remit.cli import status
from remit.cli.render import output
from remit.cli.render.page import Block, Line
from remit.cli.render.wording import count, one_line
from remit.cli.runs import check_caller
from remit.cli.where import Where, opened
from remit.flow.view import is_flow
from remit.host.readers import facts_of
from remit.values.errors import ConfigError
from remit.values.identity import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A fork that is wanted: of which run, after which turn, and what it is asked."""

    run: str
    after_turn: int | None
    message: str | None
    agent: str | None
    model: str | None
    thread: str | None


async def send(where: Where, run: str, message: str, by: Caller) -> int:
    """Leave a message for a run that goes on: text for an agent, and for a workflow JSON, or else
    the text as it is."""
    check_caller(by)
    async with opened(where) as (app, store):
        flows = is_flow(await facts_of(store, run))
        await app.send(run, _value(message) if flows else message, by=by)
    output.show(
        [Line(f"Sent to run {run}.", "good")], [{"kind": "sent", "run": run}], json=where.json
    )
    return status.OK


async def answer(where: Where, run: str, question: str, value: str, by: Caller) -> int:
    """Answer a workflow's question: with JSON, or else with the text as it is."""
    check_caller(by)
    async with opened(where) as (app, _):
        left = await app.answer(run, {question: _value(value)}, by=by)
    lines: list[Block] = [Line(f"Answered: {one_line(question)}.", "good")]
    if left:
        lines.append(Line(f"{count(left, 'question')} of run {run} still open.", "waiting"))
    told = {"kind": "answered", "run": run, "question": question, "left": left}
    output.show(lines, [told], json=where.json)
    return status.OK


async def fork(app: str, wanted: Fork, by: Caller | None, *, json: bool) -> int:
    """Go on from a turn of a recorded run in a new one, which a worker of the app drives."""
    options: StartOptions = {"by": by}
    if wanted.thread is not None:
        options["thread"] = wanted.thread
    async with opened(Where(app=app)) as (opened_app, _), _telling_options():
        made = await opened_app.fork(
            wanted.run,
            after_turn=wanted.after_turn,
            message=wanted.message,
            agent=wanted.agent,
            model=wanted.model,
            **options,
        )
    told = {"kind": "fork", "run": made, "of": wanted.run}
    line = f"Run {made} goes on from {wanted.run} when a worker of its store takes it."
    output.show([Line(line, "good")], [told], json=json)
    return status.OK


async def replay(app: str, run: str, *, json: bool) -> int:
    """Drive what is recorded of a run again, with no model and no tool; 1 if the code differs."""
    async with opened(Where(app=app)) as (opened_app, _):
        difference = await opened_app.replay(run)
    told: dict[str, Any] = {"kind": "replay", "run": run, "difference": None}
    lines: list[Block] = [Line(f"Run {run} replays as it is recorded.", "good")]
    if difference is not None:
        told["difference"] = {
            "seq": difference.seq,
            "recorded": difference.recorded,
            "driven": difference.driven,
        }
        lines = [
            Line(f"Run {run} differs at entry {difference.seq}.", "bad"),
            Line(f"recorded: {one_line(difference.recorded)}", indent=1),
            Line(f"this code: {one_line(difference.driven)}", indent=1),
        ]
    output.show(lines, [told], json=json)
    return status.OK if difference is None else status.FAILED


@asynccontextmanager
async def _telling_options() -> AsyncIterator[None]:
    """The mend as it is typed here."""
    try:
        yield
    except NothingToAnswerError as error:
        what, _, _ = str(error).partition(": ")
        raise ConfigError(f"{what}: give the fork a --message") from error


def _value(text: str) -> Any:
    with suppress(ValueError):
        return json_.loads(text)
    return text
