"""The kinds of errors: what the runtime does with each, and how a docstring becomes a message."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from remit.values.messages import Message
from remit.values.usage import Usage


class RemitError(Exception):
    """remit could not go on."""

    messages: Sequence[Message] = ()
    """What the run had added to its conversation when this was raised."""
    usage: Usage | None = None
    """What the run had used when this was raised."""

    def __post_init__(self) -> None:
        Exception.__init__(self, _message(type(self), vars(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, dict(vars(self)))


def _message(cls: type[RemitError], facts: dict[str, Any]) -> str:
    """The docstring with its facts; an interpreter that drops docstrings leaves the facts."""
    doc = cls.__doc__ or ""
    if not doc or doc.startswith(f"{cls.__name__}("):
        return ", ".join([cls.__name__, *(f"{name}={value!r}" for name, value in facts.items())])
    return inspect.cleandoc(doc).format(**facts)


def _rebuild(cls: type[RemitError], args: tuple[Any, ...], facts: dict[str, Any]) -> RemitError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(facts)
    Exception.__init__(error, *args)
    return error


class Retryable(RemitError):
    """It may go well when it is tried again later."""


class Final(RemitError):
    """It will not go well however often it is tried: the run fails."""


class Refused(RemitError):
    """It is told to the model, and the run goes on."""


class LetGo(BaseException):
    """This process drops the run; whoever holds it next goes on from the journal."""


class ConfigError(Final):
    """Something is set up so that it cannot work; the message says the mend."""
