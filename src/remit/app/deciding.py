"""What people decide about a run that waits, and answer to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from remit.agent.asking import check_caller, check_decider
from remit.agent.decisions import call_ids, check_named, decisions
from remit.app.asked import sent_to
from remit.app.decided import first
from remit.app.house import House
from remit.app.reading import pending_calls
from remit.flow.question import answers as checked
from remit.flow.view import is_flow, waiting
from remit.host.readers import facts_of
from remit.kernel.interrupt import Answer
from remit.store.records import RunRow
from remit.values import ids
from remit.values.errors import AlreadyDecidedError, NotPausedError, UserIdError
from remit.values.identity import Caller, is_id
from remit.values.results import Status


async def decide(
    house: House,
    row: RunRow,
    by: Caller,
    *,
    approve: Iterable[str],
    deny: Mapping[str, str],
    edit: Mapping[str, Mapping[str, Any]],
) -> int:
    """`App.decide`, on the run of `row`."""
    check_decider(by)
    calls = call_ids(approve)
    named = check_named(calls, deny, edit)
    asks = pending_calls(row.id, await facts_of(house.store, row.id))
    async with _telling_who_was_first(house, row.id, named):
        if row.status != "paused":
            raise NotPausedError(run=row.id, status=row.status)
        found = decisions(
            row.id,
            asks,
            approve=calls,
            deny=deny,
            edit=edit,
            tool=lambda call: house.roster.tool(row.program, call),
        )
        return await _give(house, row.id, found, by)


async def answer(house: House, row: RunRow, answers: Mapping[str, Any], by: Caller) -> int:
    """`App.answer`, on the run of `row`."""
    check_decider(by)
    questions = waiting(await facts_of(house.store, row.id))
    named = list(answers) if isinstance(answers, Mapping) else []
    async with _telling_who_was_first(house, row.id, named):
        return await _give(house, row.id, checked(row.id, questions, answers, row.status), by)


def check_sent(by: Caller | None, id: str | None) -> None:
    """Raise ConfigError and UserIdError for what no message can be sent by, or under."""
    if by is not None:
        check_caller(by)
    if id is not None and not is_id(id):
        raise UserIdError(kind="message", value=id)


async def send(house: House, row: RunRow, message: Any, by: Caller | None, id: str | None) -> None:
    """`App.send`, to the run of `row`."""
    flow = is_flow(await facts_of(house.store, row.id))
    value = sent_to(house.roster.of(row.program), message, flow=flow)
    sent = Answer(value=value, by=by, at=house.now())
    await house.client.send(row.id, sent, id or ids.new("message"))


async def cancel(house: House, row: RunRow, reason: str | None, by: Caller | None) -> Status:
    """`App.cancel`, on the run of `row`."""
    if by is not None:
        check_caller(by)
    if reason is not None:
        # Raises where the run is encoded and this App has no codec: the reason would lie in plain.
        await facts_of(house.store, row.id)
    return await house.client.cancel(row.id, reason, by)


@asynccontextmanager
async def _telling_who_was_first(
    house: House, run: str, named: Collection[str]
) -> AsyncIterator[None]:
    """Where somebody was first with one of those `named`, say who, whatever the run does since."""
    try:
        yield
    except (AlreadyDecidedError, NotPausedError):
        # Each store tells the loser at another moment, and by then the run may have gone on.
        told = await first(house.store, run, named)
        if told is None:
            raise
        raise told from None


async def _give(house: House, run: str, found: Mapping[str, Any], by: Caller) -> int:
    now = house.now()
    given = {key: Answer(value=value, by=by, at=now) for key, value in found.items()}
    return await house.client.answer(run, given)
