"""An app by its name in a module, as `--app` takes it."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

from remit.app import App
from remit.values.errors import ConfigError, RemitError


class NoSuchAppError(ConfigError):
    """The name leads to no App."""


async def named(name: str) -> App:
    """The App that `name` (`module:app`) stands for, or that a function of that name gives. Not
    opened. The module is looked for in the current folder first.

    Raises NoSuchAppError for a name that leads to none, and what the module itself raises.
    """
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise NoSuchAppError(f"--app takes MODULE:APP, like desk:app, and not {name!r}")
    if module.endswith(".py"):
        meant = module.removesuffix(".py").replace(os.sep, ".").strip(".")
        raise NoSuchAppError(
            f"--app takes a module, not its file: write {meant}:{attribute}, not {name!r}"
        )
    made = await _made(module, attribute)
    if not isinstance(made, App):
        raise NoSuchAppError(
            f"{name} is {type(made).__name__} and no App: name an App, or a function"
        )
    return made


async def opened_by(name: str) -> App:
    """`named`, for a command that needs the App: what its module fails of is a ConfigError."""
    try:
        return await named(name)
    except RemitError:
        raise
    except Exception as error:  # it is the user's code, and may fail of anything
        raise ConfigError(
            f"{name} cannot be imported: {type(error).__name__}: {error}; mend what"
            f" `python -c 'import {name.partition(':')[0]}'` shows"
        ) from error


async def _made(module: str, attribute: str) -> Any:
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise NoSuchAppError(f"there is no module {module!r} here: give --app MODULE:APP") from None
    made: Any = found
    for part in attribute.split("."):
        if not hasattr(made, part):
            raise NoSuchAppError(f"the module {module!r} has no {attribute!r}")
        made = getattr(made, part)
    if callable(made) and not isinstance(made, App):
        made = made()
    return await made if inspect.isawaitable(made) else made
