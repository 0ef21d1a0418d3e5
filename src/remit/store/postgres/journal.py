"""The writes that make a run and carry it on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any

from remit.store.postgres import money
from remit.store.postgres.lane import Plan
from remit.store.postgres.script import Script, rounds
from remit.store.postgres.statements import Queries, pack
from remit.store.postgres.wire import Rows
from remit.store.records import Append, Appended, Busy, Created, Existing, Fenced, NewRun, News
from remit.values.results import ENDED

Made = list[Created | Existing | Busy]
Outcomes = list[Appended | Fenced | News]
Round = Sequence[tuple[int, Append]]


def create(sql: Queries, news: Sequence[NewRun]) -> Plan:
    """`Store.create`, for each of `news`."""
    outcomes: Made = [Created()] * len(news)
    script = Script(sql)
    threads = {pack(new.thread) for new in news if new.thread is not None}
    keys = {pack(new.key.key) for new in news if new.key is not None}
    bases = {new.base.run for new in news if new.base is not None}
    if threads:
        script.call("make_thread", threads=list(threads))
    if keys:
        script.call("lock_start_key", keys=list(keys))
    if bases:
        script.call("lock_base", runs=list(bases))
    for round in rounds(news, _names):
        _create(script, round, outcomes)
    return script.plan(lambda: outcomes)


def append(sql: Queries, batches: Sequence[Sequence[Append]]) -> Plan:
    """`Store.append`, for each of `batches`."""
    items = [item for batch in batches for item in batch]
    outcomes: Outcomes = [Fenced()] * len(items)
    grants: dict[int, money.Grants] = {}
    script = Script(sql)
    if len(items) == 1 and not (_looks(items[0]) or _pays(items[0])):
        _append(script, items[0], outcomes)
    else:
        _lock(script, items)
        for round in rounds(items, lambda item: (item.run,)):
            paying = [(number, item) for number, item in round if _pays(item)]
            if paying:
                _pay(script, paying, grants)
            _write(script, round, outcomes)

    def shares() -> list[Outcomes]:
        for number, told in grants.items():
            outcome = outcomes[number]
            if isinstance(outcome, Appended):
                outcomes[number] = Appended(outcome.seq, outcome.inbox, tuple(told))
        rest = iter(outcomes)
        return [list(islice(rest, len(batch))) for batch in batches]

    return script.plan(shares)


def refusal(sql: Queries, item: Append) -> Plan:
    """Why `item` could not be written now; None if it could."""

    def meaning(rows: Sequence[Rows]) -> list[Fenced | News | None]:
        if not rows[0]:
            return [Fenced()]
        ((_, inbox),) = rows[0]
        return [News(inbox) if _looks(item) and inbox != item.seen else None]

    return Plan([sql("fence", **_fences([item]))], meaning)


def _names(new: NewRun) -> Iterator[Hashable]:
    """What two runs that are made together must not both have."""
    yield "run", new.id
    if new.thread is not None:
        yield "thread", new.thread
    if new.key is not None:
        yield "key", new.key.key


def _create(script: Script, round: Sequence[tuple[int, NewRun]], outcomes: Made) -> None:
    news = [new for _, new in round]
    named: dict[str, Any] = {
        "runs": [new.id for new in news],
        "threads": [None if new.thread is None else pack(new.thread) for new in news],
        "keys": [None if new.key is None else pack(new.key.key) for new in news],
        "digests": [None if new.key is None else new.key.digest for new in news],
    }
    script.call(
        "make_run",
        **named,
        tenants=[new.tenant for new in news],
        users=[new.user for new in news],
        programs=[new.program for new in news],
        formats=[new.format for new in news],
        bodies=[new.body for new in news],
        dues=[new.due for new in news],
        enqueues=[new.enqueue for new in news],
        bases=[None if new.base is None else new.base.run for new in news],
        ends=[None if new.base is None else new.base.seq for new in news],
    )

    def heard(rows: Rows) -> None:
        for place, run, other, taken, waiting in rows:
            made = Busy(taken, waiting) if run is None else Existing(run, other)
            outcomes[round[place - 1][0]] = made

    if any(new.thread is not None or new.key is not None for new in news):
        script.call("not_made", heard, **named)


def _append(script: Script, item: Append, outcomes: Outcomes) -> None:
    """One item is not worth the words that many take."""

    def heard(rows: Rows) -> None:
        for (inbox,) in rows:
            outcomes[0] = _appended(item, inbox)

    script.call("append", heard, **_fence(item), bodies=item.entries)


def _looks(item: Append) -> bool:
    """Whether the holder must have looked at all signals to write this."""
    return item.status is not None or bool(item.withdraws)


def _pays(item: Append) -> bool:
    return bool(item.settles or item.holds)


def _lock(script: Script, items: Sequence[Append]) -> None:
    """Lock all that is written to, threads before runs."""
    runs = list(dict.fromkeys(item.run for item in items))
    ended = list(dict.fromkeys(item.run for item in items if item.status in ENDED))
    if ended:
        script.call("lock_thread", runs=ended)
        script.call("lock_end", runs=runs)
    else:
        script.call("lock_run", runs=runs)
    money.lock(script, items)


def _write(script: Script, round: Round, outcomes: Outcomes) -> None:
    plain = [(number, item) for number, item in round if not _looks(item)]
    looking = [(number, item) for number, item in round if _looks(item)]
    if plain:
        script.call("append_each", _stored(plain, outcomes), **_columns(plain))
    if looking:
        _move(script, looking, outcomes)


def _pay(script: Script, round: Round, grants: dict[int, money.Grants]) -> None:
    """Before the items are written, and by the same fence."""
    items = [item for _, item in round]
    fence = _fences(items)
    fence["seens"] = [item.seen if _looks(item) else None for item in items]
    money.settle(script, items, fence)
    held = money.hold(script, items, fence)
    grants.update({number: told for (number, _), told in zip(round, held, strict=True)})


def _move(script: Script, round: Round, outcomes: Outcomes) -> None:
    """What is held back by news: pauses, ends, and keys that want no answer any more."""
    items = [item for _, item in round]
    for name, pairs in (
        ("ask", [(item, key) for item in items for key in item.asks]),
        ("withdraw", [(item, key) for item in items for key in item.withdraws]),
    ):
        if pairs:
            seen = _seen([item for item, _ in pairs])
            script.call(name, **seen, keys=[pack(key) for _, key in pairs])
    script.call(
        "move",
        _stored(round, outcomes),
        **_columns(round),
        seens=[item.seen for item in items],
        statuses=[item.status for item in items],
        dues=[item.due for item in items],
        listens=[int(item.listens) for item in items],
        asks=[len(item.asks) for item in items],
    )
    ended = [item.run for item in items if item.status in ENDED]
    if ended:
        script.call("hand_on", runs=ended)
        script.call("close_holds", runs=ended)
    _missed(script, round, outcomes)


def _missed(script: Script, round: Round, outcomes: Outcomes) -> None:
    """Who is still at its fence was held back by news alone."""

    def heard(rows: Rows) -> None:
        for place, inbox in rows:
            outcomes[round[place - 1][0]] = News(inbox)

    fences = _fences([item for _, item in round])
    script.call("fence", heard, **fences)


def _stored(round: Round, outcomes: Outcomes) -> Callable[[Rows], None]:
    """Hears which items of the round were written."""

    def heard(rows: Rows) -> None:
        for place, inbox in rows:
            number, item = round[place - 1]
            outcomes[number] = _appended(item, inbox)

    return heard


def _appended(item: Append, inbox: int) -> Appended:
    return Appended(item.seq + len(item.entries), inbox)


def _fence(item: Append) -> dict[str, Any]:
    return {
        "run": item.run,
        "token": item.token,
        "seq": item.seq,
        "count": len(item.entries),
        "format": item.format,
    }


def _fences(items: Sequence[Append]) -> dict[str, Any]:
    return {
        "runs": [item.run for item in items],
        "tokens": [item.token for item in items],
        "seqs": [item.seq for item in items],
    }


def _seen(items: Sequence[Append]) -> dict[str, Any]:
    return {**_fences(items), "seens": [item.seen for item in items]}


def _columns(round: Round) -> dict[str, Any]:
    """The items' fences and entries, column by column."""
    items = [item for _, item in round]
    entries = [
        (owner, place, body)
        for owner, item in enumerate(items, 1)
        for place, body in enumerate(item.entries, 1)
    ]
    return {
        **_fences(items),
        "counts": [len(item.entries) for item in items],
        "formats": [item.format for item in items],
        "owners": [owner for owner, _, _ in entries],
        "places": [place for _, place, _ in entries],
        "bodies": [body for _, _, body in entries],
    }
