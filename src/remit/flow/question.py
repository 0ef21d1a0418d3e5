"""Answers to questions, checked by what was recorded with each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit.flow.shape import SENT, MisfitError
from remit.tools.schema import checked
from remit.values.errors import AnswerRefusedError, ConfigError, NotPausedError
from remit.values.results import Pending, Question


def answers(
    run: str,
    waiting: Mapping[str, Question | Pending],
    given: Mapping[str, Any],
    status: str = "paused",
) -> dict[str, Any]:
    """The values given, by the ids of their questions, as plain data; `status` is the run's.

    Raises ConfigError for no answers at all, NotPausedError for a question that does not wait,
    AnswerRefusedError for a value that does not fit its question's schema: the pause stays.
    """
    if not isinstance(given, Mapping) or not given:
        raise ConfigError("nothing was answered: give {question id: answer}")
    found = {}
    for id, value in given.items():
        question = waiting.get(id)
        if not isinstance(question, Question):
            asked = [key for key, one in waiting.items() if isinstance(one, Question)]
            raise NotPausedError(
                run=run,
                status=status,
                detail=f" on question {id!r}; waiting: {', '.join(asked) or 'none'}",
            )
        found[id] = _checked(run, question, value)
    return found


def _checked(run: str, question: Question, value: Any) -> Any:
    try:
        plain = SENT.keep(value)
    except MisfitError as misfit:
        raise AnswerRefusedError(run=run, question=question.id, problem=str(misfit)) from misfit
    if question.schema is None:
        return plain
    schema = checked(question.schema, f"the schema of {question.id}", arguments=False)
    problems = schema.problems(plain)
    if problems:
        told = "; ".join(f"{_where(each.path)}{each.text}" for each in problems[:5])
        raise AnswerRefusedError(run=run, question=question.id, problem=told)
    return plain


def _where(path: tuple[str | int, ...]) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""
