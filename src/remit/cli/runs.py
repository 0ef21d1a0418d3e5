"""The `runs` commands: an operator's look at a store, and decisions about what waits in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from remit.app import App
from remit.cli import status, wire
from remit.cli.render import output, pages
from remit.cli.render.page import Block, Line
from remit.cli.render.wording import count, one_line
from remit.cli.sight import Sight, look
from remit.cli.where import Where, opened
from remit.store.protocol import Store
from remit.values.errors import (
    AlreadyDecidedError,
    ConfigError,
    NotPausedError,
    UserIdError,
)
from remit.values.identity import Caller, is_id
from remit.values.results import ENDED, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which runs to list."""

    status: Status | None = None
    user: str | None = None
    tenant: str | None = None
    before: str | None = None
    limit: int = 50


async def list_runs(where: Where, which: Which) -> int:
    """Runs, newest first."""
    async with opened(where) as (app, _):
        runs = await app.runs(
            status=which.status,
            user=which.user,
            tenant=which.tenant,
            before=which.before,
            limit=which.limit,
        )
    blocks: list[Block] = pages.listing(runs) if runs else [Line("No runs.", "dim")]
    output.show(blocks, [wire.listed(run) for run in runs], json=where.json)
    return status.OK


async def show(where: Where, run: str) -> int:
    """One run with all that is known of it; the status tells how it stands."""
    async with opened(where) as (app, store):
        sight = await look(app, store, run)
    lines = pages.next_lines(sight, where)
    output.show(pages.whole(sight, lines), [wire.whole(sight, lines)], json=where.json)
    return status.of_run(sight.run.status, sight.run.finish)


async def approve(where: Where, run: str, calls: Sequence[str], by: Caller) -> int:
    """Approve calls by their ids, or the only one that waits."""
    check_caller(by)
    async with opened(where) as (app, store):
        sight = await look(app, store, run)
        named = list(dict.fromkeys(calls)) or _the_only_one(sight)
        async with _telling_who_decided(app, store, run, named):
            left = await app.decide(run, approve=named, by=by)
    _tell_decided(where, run, ("approved", named), left)
    return status.OK


async def deny(where: Where, run: str, call: str, reason: str, by: Caller) -> int:
    """Deny one call; the model reads why."""
    check_caller(by)
    async with opened(where) as (app, store), _telling_who_decided(app, store, run, [call]):
        left = await app.decide(run, deny={call: reason}, by=by)
    _tell_decided(where, run, ("denied", [call]), left)
    return status.OK


async def cancel(where: Where, run: str, reason: str | None, by: Caller | None) -> int:
    """Stop a run. One that has ended stays as it is, which fails unless it was cancelled."""
    if by is not None:
        check_caller(by)
    async with opened(where) as (app, _):
        before = (await app.get(run)).status
        after = await app.cancel(run, reason=reason, by=by)
    if before in ENDED:
        told = f"Run {run} had ended already: {before}."
    elif after == "running":
        told = f"Run {run} is told to stop; whoever drives it ends it within a renewal."
    else:
        told = f"Run {run} is {after}."
    answer = {"kind": "cancel", "run": run, "status": after, "ended_before": before in ENDED}
    output.show([Line(told)], [answer], json=where.json)
    return status.FAILED if after in ENDED and after != "cancelled" else status.OK


def check_caller(by: Caller) -> None:
    """Raise UserIdError unless the caller is told by an id."""
    if not is_id(by.user):
        raise UserIdError(kind="--by", value=by.user)


def _the_only_one(sight: Sight) -> list[str]:
    waiting = sight.waiting
    if len(waiting) > 1:
        calls = "; ".join(pages.waiting_line(one) for one in waiting)
        raise ConfigError(
            f"{len(waiting)} calls of run {sight.run.id} wait: name those that you approve: {calls}"
        )
    if not waiting:
        raise _not_paused(sight)
    return [waiting[0].id]


@asynccontextmanager
async def _telling_who_decided(
    app: App, store: Store, run: str, calls: Sequence[str]
) -> AsyncIterator[None]:
    """Where a decision comes too late, say who was first."""
    try:
        yield
    except (AlreadyDecidedError, NotPausedError):
        sight = await look(app, store, run)
        for call in calls:
            first = sight.decided.get(call)
            if first is not None:
                raise AlreadyDecidedError(
                    run=run, call=call, by=first.who, caller=first.by
                ) from None
        if sight.run.status != "paused":
            raise _not_paused(sight) from None
        raise


def _not_paused(sight: Sight) -> NotPausedError:
    told = "; decided: " + ", ".join(
        f"{call} by {one.who} ({one.verdict})" for call, one in sight.decided.items()
    )
    return NotPausedError(
        run=sight.run.id, status=sight.run.status, detail=told if sight.decided else ""
    )


def _tell_decided(where: Where, run: str, what: tuple[str, Sequence[str]], left: int) -> None:
    verdict, calls = what
    lines: list[Block] = [
        Line(f"{verdict.capitalize()}: {', '.join(one_line(call) for call in calls)}.", "good")
    ]
    if left:
        lines.append(Line(f"{count(left, 'call')} of run {run} still to be decided.", "waiting"))
    else:
        lines.append(Line(f"Run {run} goes on when a worker of its store takes it."))
    answer = {"kind": "decided", "run": run, "verdict": verdict, "calls": calls, "left": left}
    output.show(lines, [answer], json=where.json)
