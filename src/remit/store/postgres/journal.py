"""The writes that make a run and carry it on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any

from remit.store.postgres.lane import Plan
from remit.store.postgres.script import Script, rounds
from remit.store.postgres.statements import Queries, pack
from remit.store.postgres.wire import Rows
from remit.store.records import (
    ENDED,
    Append,
    Appended,
    Busy,
    Created,
    Fenced,
    NewRun,
    News,
)

Outcomes = list[Appended | Fenced | News]
Round = Sequence[tuple[int, Append]]


def create(sql: Queries, news: Sequence[NewRun]) -> Plan:
    """`Store.create`, for each of `news`."""
    outcomes: list[Created | Busy] = [Created()] * len(news)
    script = Script(sql)
    threads = list(dict.fromkeys(pack(new.thread) for new in news if new.thread is not None))
    if threads:
        script.call("make_thread", threads=threads)
        script.call("take_thread", threads=threads)
    for round in rounds(news, _names):
        _create(script, round, outcomes)
    return script.plan(lambda: outcomes)


def append(sql: Queries, batches: Sequence[Sequence[Append]]) -> Plan:
    """`Store.append`, for each of `batches`."""
    items = [item for batch in batches for item in batch]
    outcomes: Outcomes = [Fenced()] * len(items)
    script = Script(sql)
    if len(items) == 1 and items[0].status is None:
        _append(script, items[0], outcomes)
    else:
        _lock(script, items)
        for round in rounds(items, lambda item: (item.run,)):
            _write(script, round, outcomes)

    def shares() -> list[Outcomes]:
        rest = iter(outcomes)
        return [list(islice(rest, len(batch))) for batch in batches]

    return script.plan(shares)


def _names(new: NewRun) -> Iterator[Hashable]:
    """What two runs that are made together must not both have."""
    yield "run", new.id
    if new.thread is not None:
        yield "thread", new.thread


def _create(
    script: Script, round: Sequence[tuple[int, NewRun]], outcomes: list[Created | Busy]
) -> None:
    news = [new for _, new in round]
    runs = [new.id for new in news]
    threads = [None if new.thread is None else pack(new.thread) for new in news]
    script.call(
        "make_run",
        runs=runs,
        tenants=[new.tenant for new in news],
        users=[new.user for new in news],
        programs=[new.program for new in news],
        threads=threads,
        formats=[new.format for new in news],
        bodies=[new.body for new in news],
    )

    def heard(rows: Rows) -> None:
        for place, live in rows:
            outcomes[round[place - 1][0]] = Busy(live)

    if any(thread is not None for thread in threads):
        script.call("thread_live", heard, runs=runs, threads=threads)


def _append(script: Script, item: Append, outcomes: Outcomes) -> None:
    """One item is not worth the words that many take."""

    def heard(rows: Rows) -> None:
        for (inbox,) in rows:
            outcomes[0] = _appended(item, inbox)

    script.call("append", heard, **_fence(item), bodies=item.entries)


def _lock(script: Script, items: Sequence[Append]) -> None:
    """Lock all that is written to, threads before runs."""
    runs = list(dict.fromkeys(item.run for item in items))
    ended = list(dict.fromkeys(item.run for item in items if item.status in ENDED))
    if ended:
        script.call("lock_thread", runs=ended)
    if len(runs) > 1:
        script.call("lock_run", runs=runs)


def _write(script: Script, round: Round, outcomes: Outcomes) -> None:
    plain = [(number, item) for number, item in round if item.status is None]
    ends = [(number, item) for number, item in round if item.status in ENDED]
    pauses = [(number, item) for number, item in round if item.status == "paused"]
    if plain:
        script.call("append_each", _stored(plain, outcomes), **_columns(plain))
    if ends:
        script.call(
            "finish",
            _stored(ends, outcomes),
            **_columns(ends),
            statuses=[item.status for _, item in ends],
            seens=[item.seen for _, item in ends],
        )
    for number, item in pauses:
        _pause(script, number, item, outcomes)
    if ends or pauses:
        _missed(script, [*ends, *pauses], outcomes)


def _pause(script: Script, number: int, item: Append, outcomes: Outcomes) -> None:
    script.call(
        "pause",
        _stored([(number, item)], outcomes),
        **_fence(item),
        bodies=item.entries,
        seen=item.seen,
        asks=[pack(key) for key in item.asks],
    )
    paused = {"run": item.run, "token": item.token, "seq": item.seq + len(item.entries)}
    script.call("count_needs", **paused)
    if item.asks:
        script.call("requeue", **paused)


def _missed(script: Script, round: Round, outcomes: Outcomes) -> None:
    """Who is still at its fence was held back by news alone."""

    def heard(rows: Rows) -> None:
        for place, inbox in rows:
            outcomes[round[place - 1][0]] = News(inbox)

    script.call(
        "fence",
        heard,
        runs=[item.run for _, item in round],
        tokens=[item.token for _, item in round],
        seqs=[item.seq for _, item in round],
    )


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


def _columns(round: Round) -> dict[str, Any]:
    """The items' fences and entries, column by column."""
    items = [item for _, item in round]
    entries = [
        (owner, place, body)
        for owner, item in enumerate(items, 1)
        for place, body in enumerate(item.entries, 1)
    ]
    return {
        "runs": [item.run for item in items],
        "tokens": [item.token for item in items],
        "seqs": [item.seq for item in items],
        "counts": [len(item.entries) for item in items],
        "formats": [item.format for item in items],
        "owners": [owner for owner, _, _ in entries],
        "places": [place for _, place, _ in entries],
        "bodies": [body for _, _, body in entries],
    }
