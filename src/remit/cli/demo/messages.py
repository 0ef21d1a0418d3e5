"""Customers' messages: those that the demo brings, or a file of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from remit.values.errors import ConfigError
from remit.values.identity import is_id

_SHAPE = '{"user": "u_101", "text": "where is my order A-1042?"}'
_KEYS = frozenset({"id", "user", "text"})


@dataclass(frozen=True, slots=True)
class CustomerMessage:
    """What a customer wrote; `id` names it, and its thread."""

    id: str
    user: str
    text: str


def shipped() -> list[CustomerMessage]:
    """The demo's own messages."""
    file = resources.files("remit.cli.demo").joinpath("messages.jsonl")
    return parse(file.read_text("utf-8"), "messages.jsonl")


def of_file(path: Path) -> list[CustomerMessage]:
    """The messages in a file of JSON lines. Raises ConfigError, with the line where one is bad."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{path} cannot be read ({why}): give a file of JSON lines") from None
    return parse(text, str(path))


def parse(text: str, name: str) -> list[CustomerMessage]:
    """The messages in `text`, one JSON object a line; blank lines are skipped."""
    found = list(_lines(text, name))
    if not found:
        raise ConfigError(f"{name} holds no message: write one a line, like {_SHAPE}")
    return found


def _lines(text: str, name: str) -> Iterator[CustomerMessage]:
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        message = _message(_object(line, where), number, where)
        if message.id in lines:
            raise ConfigError(
                f"{where}: the id {message.id!r} stands on line {lines[message.id]} already:"
                " give each message an id of its own, or none"
            )
        lines[message.id] = number
        yield message


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: no JSON ({error}): write {_SHAPE}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: no JSON object: write {_SHAPE}")
    unknown = sorted(set(found) - _KEYS)
    if unknown:
        raise ConfigError(f"{where}: {unknown[0]!r} is no key of a message: write {_SHAPE}")
    return found


def _message(found: dict[str, Any], number: int, where: str) -> CustomerMessage:
    id_, user, text = found.get("id", f"m_{number:02}"), found.get("user"), found.get("text")
    for kind, value in (("user", user), ("id", id_)):
        if not is_id(value):
            raise ConfigError(
                f"{where}: {kind} {value!r} is no id: use 1 to 64 of A-Z a-z 0-9 . _ : -"
            )
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{where}: text {text!r} says nothing: write {_SHAPE}")
    return CustomerMessage(str(id_), str(user), text)
