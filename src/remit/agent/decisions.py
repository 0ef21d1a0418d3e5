"""From what a person says about pending calls to answers that are bound to their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remit.agent.state import Decision
from remit.tools.arguments import ArgumentsError
from remit.tools.tool import Tool
from remit.values.errors import ConfigError, EditRefusedError, NotPausedError
from remit.values.results import Pending


def decisions(
    run: str,
    asks: Mapping[str, Pending],
    *,
    approve: Iterable[str],
    deny: Mapping[str, str],
    edit: Mapping[str, Mapping[str, Any]],
    tool: Callable[[Pending], Tool],
) -> dict[str, Decision]:
    """One decision for each call named, by the key of its question, of those that `asks` holds.

    Raises what `check_named` does, NotPausedError for a call that
    does not wait, EditRefusedError for arguments that do not fit the tool, and for any of a call
    that may have happened.
    """
    approved = call_ids(approve)
    named = check_named(approved, deny, edit)
    keys = {pending.id: (key, pending) for key, pending in asks.items()}
    for call in named:
        if call not in keys:
            waiting = ", ".join(keys) or "none"
            raise NotPausedError(
                run=run, status="paused", detail=f" on {call!r}; waiting: {waiting}"
            )
    found: dict[str, Decision] = {}
    for call in approved:
        key, pending = keys[call]
        found[key] = Decision(verdict="approve", digest=pending.digest)
    for call, reason in deny.items():
        key, pending = keys[call]
        found[key] = Decision(verdict="deny", digest=pending.digest, reason=reason)
    for call, arguments in edit.items():
        key, pending = keys[call]
        found[key] = _edited(pending, dict(arguments), tool)
    return found


def call_ids(approve: object) -> list[str]:
    """`approve` as ids. Raises ConfigError."""
    if isinstance(approve, Iterable) and not isinstance(approve, str | Mapping):
        found = list(approve)
        if all(isinstance(call, str) for call in found):
            return found
        approve = found
    raise ConfigError(
        f"approve= takes a list of call ids, like approve=[run.pending[0].id], not {approve!r:.80}"
    )


def check_named(
    approve: Iterable[str], deny: Mapping[str, str], edit: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The calls that are decided. Raises ConfigError for one named twice, for none at all, and for
    what names none."""
    _check_shapes(deny, edit)
    named = [*call_ids(approve), *deny, *edit]
    if not named:
        raise ConfigError("nothing was decided: give approve=, deny= or edit=")
    twice = sorted({call for call in named if named.count(call) > 1})
    if twice:
        raise ConfigError(f"call {twice[0]} is decided twice: give one decision for each call")
    return named


def _check_shapes(deny: object, edit: object) -> None:
    if not _is_by_id(deny, str):
        raise ConfigError(
            "deny= takes a reason for each call id, like deny={run.pending[0].id: 'too much'},"
            f" not {deny!r:.80}"
        )
    if not _is_by_id(edit, Mapping):
        raise ConfigError(
            "edit= takes new arguments for each call id, like"
            f" edit={{run.pending[0].id: {{'amount': 1}}}}, not {edit!r:.80}"
        )


def _is_by_id(given: object, kind: Any) -> bool:
    """Whether `given` maps texts to values of this kind."""
    if not isinstance(given, Mapping):
        return False
    return all(isinstance(key, str) and isinstance(value, kind) for key, value in given.items())


def _edited(
    pending: Pending, arguments: dict[str, Any], find: Callable[[Pending], Tool]
) -> Decision:
    if pending.doubt:
        problem = (
            "it may have happened, with the arguments that it has. Approve it if it did not"
            " happen; deny it, with a reason for the model, if it did or if nobody knows."
        )
        raise EditRefusedError(call=pending.id, tool=pending.tool, problem=problem)
    tool = find(pending)
    if not _is_json(arguments):
        problem = "they are not all JSON: text, finite numbers, true, false, null, lists, objects."
        raise EditRefusedError(call=pending.id, tool=pending.tool, problem=problem)
    try:
        tool.check(arguments)
    except ArgumentsError as error:
        raise EditRefusedError(call=pending.id, tool=pending.tool, problem=str(error)) from error
    return Decision(verdict="edit", digest=pending.digest, arguments=arguments)


def _is_json(value: object) -> bool:
    """Whether the journal keeps `value` as it is: NaN would become null, and a set a list."""
    if isinstance(value, dict):
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or type(value) in (str, int, bool)
