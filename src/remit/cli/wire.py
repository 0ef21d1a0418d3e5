"""Runs as data-only objects, for JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit.cli.attempts import Attempt, Attempts, fields_of, unanswered
from remit.cli.sight import Sight
from remit.cli.steps import Step
from remit.values.content import Call
from remit.values.identity import Caller
from remit.values.results import Pending, Question, Run, Turn
from remit.values.usage import Usage


def listed(run: Run) -> dict[str, Any]:
    """A run without its contents."""
    return {
        "kind": "run",
        "id": run.id,
        "agent": run.agent,
        "status": run.status,
        "user": run.user,
        "tenant": run.tenant,
        "thread": run.thread,
        "created": run.created,
        "ended": run.ended,
        "due": run.due,
        "blocked_reason": run.blocked_reason,
    }


def whole(sight: Sight, next_lines: list[str]) -> dict[str, Any]:
    """A run with everything that is known of it."""
    run = sight.run
    return {
        **listed(run),
        "finish": run.finish,
        "reason": run.reason,
        "error": run.error,
        "by": _caller(run.by),
        "text": run.text,
        "usage": usage(run.usage),
        "turns": [_turn(turn, sight, sight.attempts) for turn in run.turns],
        "attempts": _attempts(unanswered(sight.attempts, run.turns)),
        "workflow": run.agent if sight.is_flow else None,
        "steps": [_step(step, sight) for step in sight.steps],
        "listens": sight.listens,
        "pending": [pending(one) for one in sight.waiting],
        "questions": [question(one) for one in sight.questions],
        "output": run.output,
        "next": next_lines,
    }


def pending(one: Pending) -> dict[str, Any]:
    """A call that waits for a decision."""
    return {
        "id": one.id,
        "tool": one.tool,
        "arguments": one.arguments,
        "why": one.why,
        "digest": one.digest,
        "doubt": one.doubt,
        "within": list(one.within),
    }


def question(one: Question) -> dict[str, Any]:
    """What a workflow asks people."""
    return {"id": one.id, "question": one.question, "schema": one.schema}


def usage(used: Usage) -> dict[str, Any]:
    """Tokens and cost, every field."""
    return {
        "input_tokens": used.input_tokens,
        "cache_read_tokens": used.cache_read_tokens,
        "cache_write_tokens": used.cache_write_tokens,
        "cache_write_long_tokens": used.cache_write_long_tokens,
        "output_tokens": used.output_tokens,
        "reasoning_tokens": used.reasoning_tokens,
        "cost": None if used.cost is None else format(used.cost, "f"),
        "estimated": used.estimated,
    }


def _turn(turn: Turn, sight: Sight, attempts: Attempts) -> dict[str, Any]:
    return {
        "number": turn.number,
        "model": turn.model,
        "usage": usage(turn.usage),
        "usage_id": turn.usage_id,
        "text": turn.text,
        "calls": [_call(call, sight) for call in turn.calls],
        "attempts": _attempts(attempts.get(turn.number, ())),
    }


def _attempts(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    return [
        {
            "model": one.model,
            **fields_of(one),
            "usage": None if one.usage is None else usage(one.usage),
        }
        for one in attempts
    ]


def _turns(step: Step | None, sight: Sight) -> dict[str, Any]:
    """The turns of an agent inside, and the attempts at one more."""
    if step is None:
        return {"agent": None, "turns": [], "attempts": []}
    return {
        "agent": step.agent,
        "turns": [_turn(turn, sight, step.attempts) for turn in step.turns],
        "attempts": _attempts(unanswered(step.attempts, step.turns)),
    }


def _call(call: Call, sight: Sight) -> dict[str, Any]:
    decision, result = sight.decided.get(call.id), sight.results.get(call.id)
    inside = sight.inside.get(call.id)
    return {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "key": call.key,
        "result": None if result is None else {"status": result.status, "text": result.text},
        "decision": None
        if decision is None
        else {
            "verdict": decision.verdict,
            "reason": decision.reason,
            "by": _caller(decision.by),
            "at": decision.at,
        },
        **_turns(inside, sight),
    }


def _step(step: Step, sight: Sight) -> dict[str, Any]:
    return {
        "name": step.name,
        "took": step.took,
        "error": step.error,
        **_turns(step, sight),
    }


def _caller(caller: Caller | None) -> dict[str, Any] | None:
    if caller is None:
        return None
    return {"user": caller.user, "tenant": caller.tenant, "roles": sorted(caller.roles)}
