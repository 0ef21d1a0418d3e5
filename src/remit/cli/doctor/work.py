"""What may be wrong with the runs of a store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from remit.cli.doctor.finding import Finding, Measures
from remit.cli.render.wording import count, one_line, span
from remit.kernel.facts import Paused, decode
from remit.store.records import ENCODED
from remit.store.upkeep import Waiting, Work

_NAMED = 5


def work(
    found: Work,
    programs: Collection[str],
    now: float,
    measures: Measures,
    workflows: Collection[str] = (),
) -> Iterator[Finding]:
    """All that is wrong by what was read at `now`, in seconds since 1970. `programs` are those
    of the app, `workflows` among them; without any, nobody's runs are orphans."""
    yield from lapsed(found, measures)
    yield from dying(found)
    yield from overdue(found)
    if programs:
        yield from orphans(found, programs, workflows)
    yield from paused(found.waiting, now, measures)


def lapsed(found: Work, measures: Measures) -> Iterator[Finding]:
    """Workers that are gone, and whose runs nobody has taken over."""
    for one in found.lapsed:
        if one.ago is not None and one.ago < measures.lapsed:
            continue
        ago = "before this machine was started" if one.ago is None else f"{span(one.ago)} ago"
        yield Finding(
            "warning",
            "lapsed-worker",
            f"the lease of worker {one_line(one.worker)} ended {ago}, and it still holds"
            f" {count(one.runs, 'run')}",
            "start a process with an App of this store: it queues them again within seconds",
        )


def dying(found: Work) -> Iterator[Finding]:
    """Runs that take their process with them, or are very unlucky."""
    if found.dying:
        most = max(found.dying, key=lambda run: run.deaths)
        yield Finding(
            "warning",
            "dying-runs",
            f"the processes of {count(len(found.dying), 'run')} died again and again with nothing"
            f" recorded in between, {most.deaths} times at most:"
            f" {_some([f'{run.run} of {run.program}' for run in found.dying])}",
            "look in the logs of their workers for what killed them (memory, a crash in a library)",
        )


def overdue(found: Work) -> Iterator[Finding]:
    """Runs that are due and that nobody takes."""
    for one in found.overdue:
        runs = count(one.runs, "due run")
        what = f"{runs} of {one_line(one.program)}: the first has waited for {span(one.ago)}"
        if found.alive:
            yield Finding(
                "note",
                "overdue-runs",
                f"{what}, and {count(found.alive, 'worker')} alive take none",
                "see that a worker has this agent or workflow in this version, and room for more"
                " runs",
            )
        else:
            yield Finding(
                "warning",
                "overdue-runs",
                f"{what}, and no worker is alive",
                "start a process with an App of this store that has this agent or workflow",
            )


def orphans(
    found: Work, programs: Collection[str], workflows: Collection[str] = ()
) -> Iterator[Finding]:
    """Live runs that the app cannot drive; `workflows` are those among its `programs`."""
    for one in found.live:
        if one.program in programs:
            continue
        name, _, version = one.program.partition("@")
        like = sorted(has for has in programs if has.partition("@")[0] == name)
        has = f"; it has {', '.join(like)}" if like else ""
        kind, given = _kind(like, workflows)
        yield Finding(
            "warning",
            "orphan-runs",
            f"{count(one.runs, 'run')} of {one_line(one.program)} have not ended, and the app has"
            f" no such {kind}{has}",
            f"give the app {given.format(f'name={name!r}, version={version!r}')} until they have"
            " ended, or cancel them with `remit runs cancel`",
        )


def _kind(like: Sequence[str], workflows: Collection[str]) -> tuple[str, str]:
    """What a program is, by what the app has of its name, and how one is given."""
    if not like:
        return "agent or workflow", "an Agent({0}, …) or a @workflow({0}), whichever it was,"
    if like[0] in workflows:
        return "workflow", "a @workflow({0})"
    return "agent", "an Agent({0}, …)"


def paused(waiting: Sequence[Waiting], now: float, measures: Measures) -> Iterator[Finding]:
    """Runs that people may have forgotten."""
    since = {one.run: _paused_at(one) for one in waiting}
    long = {
        run: now - at for run, at in since.items() if at is not None and now - at >= measures.paused
    }
    if long:
        yield Finding(
            "note",
            "long-paused",
            f"{count(len(long), 'run')} waiting for an answer or a message, the longest for"
            f" {span(max(long.values()))}: {_some(list(long))}",
            "answer, decide or cancel them: `remit runs list --status paused` shows them",
        )


def _paused_at(one: Waiting) -> float | None:
    """None for a run that goes on by itself at a time of its own."""
    fact = None if one.newest.startswith(ENCODED) else decode(one.newest)
    if not isinstance(fact, Paused):
        return one.created.timestamp()
    return None if fact.due is not None else fact.at / 1000


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    told = ", ".join(map(one_line, names[:_NAMED]))
    return f"{told} and {more} more" if more > 0 else told
