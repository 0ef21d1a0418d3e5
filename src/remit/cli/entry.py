"""The way in: from arguments to a command, and from errors to one line and a status."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from remit.cli import status
from remit.values.errors import ConfigError, RemitError, RunNotFoundError, UserIdError

_MISSING = (
    "remit: the command needs {name}, which is not installed: pip install '.[cli]' in a clone of"
    " remit"
)
_EXTRA = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command named by `arguments` (those of the process unless given); its exit status.
    It returns when the command is done, also where it is called from async code."""
    _never_fail_to_print()
    try:
        return _run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return status.INTERRUPTED
    except BrokenPipeError:
        _drop_what_is_left()
        return status.PIPE_CLOSED


def _run(arguments: list[str]) -> int:
    for name in _EXTRA:
        try:
            import_module(name)
        except ModuleNotFoundError:
            _complain(_MISSING.format(name=name))
            return status.WRONG_USE
    from remit.cli.commands import read

    found = read(arguments, _complain)
    if isinstance(found, int):
        return found
    return _carry_out(found)


def _carry_out(command: Callable[[], int]) -> int:
    try:
        code = command()
        sys.stdout.flush()
    except (ConfigError, UserIdError, RunNotFoundError) as error:
        _complain(f"remit: {error}")
        return status.WRONG_USE
    except RemitError as error:
        _complain(f"remit: {error}")
        return status.FAILED
    return code


def _complain(text: str) -> None:
    """One line to stderr."""
    print(" ".join(text.split()), file=sys.stderr)


def _never_fail_to_print() -> None:
    """What the terminal's encoding lacks is shown by its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_what_is_left() -> None:
    """Nobody reads any more: the flush at exit must not find a closed pipe."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
