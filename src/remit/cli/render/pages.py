"""Runs as pages for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from remit.agent.recorded.folds import Brief
from remit.cli.attempts import Attempt, Attempts, follows, unanswered
from remit.cli.render.page import (
    Block,
    Cell,
    Column,
    Fields,
    Heading,
    Line,
    Listing,
    Tone,
    tone_of_status,
)
from remit.cli.render.wording import arguments, count, moment, money, one_line, shown
from remit.cli.sight import Sight
from remit.cli.steps import Step
from remit.cli.where import Where
from remit.values.content import Call
from remit.values.identity import Caller
from remit.values.results import Pending, Run, Turn
from remit.values.usage import Usage

_COLUMNS = (
    Column("run", 30, whole=True),
    Column("status", 9, whole=True),
    Column("created", 20, whole=True),
    Column("user", 12),
    Column("thread", 12),
    Column("agent", 12),
)


def listing(runs: Sequence[Run]) -> list[Block]:
    """A list of runs."""
    return [Listing(_COLUMNS, [_row(run) for run in runs])]


def _row(run: Run) -> list[Cell]:
    return [
        Cell(run.id),
        Cell(run.status, tone_of_status(run.status)),
        Cell(moment(run.created)),
        Cell(run.user or "-"),
        Cell(run.thread or "-"),
        Cell(run.agent),
    ]


def whole(sight: Sight, next_lines: Sequence[str]) -> list[Block]:
    """One run: how it stands, its turns and calls, what waits, and what to type next."""
    run = sight.run
    kind = "workflow" if sight.is_flow else "agent"
    blocks: list[Block] = [Heading(f"Run {run.id}"), Fields(list(_outline(run, kind)))]
    for turn in run.turns:
        blocks.append(Heading(_turn_title(turn)))
        blocks += _turn(turn, sight, sight.attempts)
    left = unanswered(sight.attempts, run.turns)
    if left:
        blocks += [Heading(f"Turn {len(run.turns)}  no answer"), *map(_attempt, left)]
    if sight.steps:
        blocks.append(Heading("Steps"))
        for step in sight.steps:
            blocks += _step(step, sight)
    if sight.waiting:
        blocks.append(Heading(f"Waiting for a decision: {count(len(sight.waiting), 'call')}"))
        for one in sight.waiting:
            blocks += waiting(one)
    if sight.questions:
        blocks.append(Heading(f"Waiting for an answer: {count(len(sight.questions), 'question')}"))
        blocks += [
            Line(f"{one.id}  {one_line(str(one.question))}", "waiting", indent=1)
            for one in sight.questions
        ]
    if sight.listens:
        blocks.append(Heading("Waiting for a message"))
    if next_lines:
        blocks.append(Heading("Next"))
        blocks += [Line(line, "strong", indent=1) for line in next_lines]
    return blocks


def waiting(one: Pending) -> list[Block]:
    """A call that waits for a decision."""
    return [
        Line(waiting_line(one), "waiting", indent=1),
        Line(one_line(one.why), "dim", indent=2),
    ]


def waiting_line(one: Pending) -> str:
    """A waiting call on one line."""
    within = f"  in {' in '.join(map(one_line, reversed(one.within)))}" if one.within else ""
    return f"{one.id}  {one_line(one.tool)}({arguments(one.arguments)}){within}"


def next_lines(sight: Sight, where: Where) -> list[str]:
    """The command lines that make sense for the run as it stands."""
    run = sight.run
    by = ("--by", "USER")
    found = []
    for one in sight.waiting:
        found.append(where.line("runs", "approve", run.id, one.id, *by))
        deny = ("--reason", "WHY", *by)
        found.append(where.line("runs", "deny", run.id, one.id, *deny))
    for question in sight.questions:
        words = ("runs", "answer", run.id, question.id, "VALUE", *by)
        found.append(where.line(*words))
    if sight.listens:
        found.append(where.line("runs", "send", run.id, "MESSAGE", *by))
    if run.status in ("queued", "running", "paused"):
        found.append(where.line("runs", "cancel", run.id))
    return found


def who(caller: Caller | None) -> str:
    """A caller with the roles that they had."""
    if caller is None or caller.user is None:
        return "-"
    roles = f" ({', '.join(sorted(caller.roles))})" if caller.roles else ""
    return shown(caller.user + roles)


def _outline(run: Run, kind: str) -> Iterator[tuple[str, Cell]]:
    yield "status", Cell(run.status, tone_of_status(run.status))
    yield "finish", Cell(run.finish or "-")
    if run.reason:
        yield "reason", Cell(shown(run.reason))
    if run.error:
        yield "error", Cell(shown(run.error), "bad")
    if run.blocked_reason:
        yield "blocked", Cell(shown(run.blocked_reason), "bad")
    if run.due is not None:
        yield "due", Cell(moment(run.due))
    yield kind, Cell(run.agent)
    for name, value in (("user", run.user), ("tenant", run.tenant), ("thread", run.thread)):
        if value is not None:
            yield name, Cell(value)
    if run.by is not None:
        yield "asked by", Cell(who(run.by))
    yield "created", Cell(moment(run.created))
    yield "ended", Cell(moment(run.ended))
    if not run.turns and run.output is not None:
        yield "output", Cell(shown(str(run.output)))
    used = run.usage
    yield "tokens", Cell(_tokens(used))
    yield "cost", Cell(money(used.cost))
    for message in run.messages[:1]:
        yield "asked", Cell(shown(getattr(message, "text", "")))


def _tokens(used: Usage) -> str:
    about = " (estimated)" if used.estimated else ""
    return f"{used.input_tokens} in, {used.output_tokens} out{about}"


def _turn_title(turn: Turn) -> str:
    return (
        f"Turn {turn.number}  {one_line(turn.model)}  {_tokens(turn.usage)}"
        f"  cost {money(turn.cost)}"
    )


def _turn(turn: Turn, sight: Sight, attempts: Attempts) -> Iterator[Line]:
    yield from map(_attempt, attempts.get(turn.number, ()))
    if turn.text:
        yield Line(shown(turn.text), indent=1)
    for call in turn.calls:
        yield from _call(call, sight)


def _step(step: Step, sight: Sight) -> Iterator[Block]:
    agent = f"  {one_line(step.agent)}" if step.agent else ""
    yield Line(f"{one_line(step.name)}{agent}  {step.took} ms", "strong", indent=1)
    if step.error is not None:
        yield Line(f"failed: {shown(step.error)}", "bad", indent=2)
    yield from _turns(step, sight)


def _turns(step: Step, sight: Sight) -> Iterator[Line]:
    """The turns of an agent inside, two steps to the right of what it worked in."""
    for turn in step.turns:
        yield Line(_turn_title(turn), indent=2)
        for line in _turn(turn, sight, step.attempts):
            yield replace(line, indent=line.indent + 2)
    for attempt in unanswered(step.attempts, step.turns):
        yield replace(_attempt(attempt), indent=2)


def _attempt(attempt: Attempt) -> Line:
    used = attempt.usage
    told = "" if used is None else f"  {_tokens(used)}  cost {money(used.cost)}"
    if isinstance(attempt, Brief):
        return Line(f"brief by {one_line(attempt.model)}{told}", "dim", indent=1)
    what = "brief" if attempt.purpose == "brief" else "attempt"
    status = f" {attempt.status}" if attempt.status is not None else ""
    error = f" ({one_line(attempt.message, 120)})" if attempt.message else ""
    return Line(
        f"{what} of {one_line(attempt.model)} failed: {attempt.why}{status}{error}{told};"
        f" {one_line(follows(attempt))}",
        "bad",
        indent=1,
    )


def _call(call: Call, sight: Sight) -> Iterator[Line]:
    name = call.misnamed if call.misnamed is not None else call.name
    given = arguments(call.arguments) if call.malformed is None else shown(call.malformed)
    yield Line(f"{one_line(name)}({given})  {call.id}", "strong", indent=1)
    decision = sight.decided.get(call.id)
    if decision is not None:
        reason = f": {one_line(decision.reason)}" if decision.reason else ""
        verdict = {"approve": "approved", "deny": "denied", "edit": "approved with edits"}
        told = verdict.get(decision.verdict, decision.verdict)
        yield Line(
            f"{told} by {who(decision.by)} at {moment(decision.at)}{reason}", "waiting", indent=2
        )
    inside = sight.inside.get(call.id)
    if inside is not None:
        yield from _turns(inside, sight)
    result = sight.results.get(call.id)
    if result is None:
        yield Line("no result yet", "dim", indent=2)
    else:
        tone: Tone = "plain" if result.status == "ok" else "bad"
        yield Line(f"{result.status}: {shown(result.text)}", tone, indent=2)
