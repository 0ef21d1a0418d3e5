"""What is wrong with a call's arguments, said so that a model can mend it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit.values.errors import Refused

Path = tuple[str | int, ...]
Plain = dict[str, Any]

PROBLEMS_TOLD = 8
ROUNDS = 8
"""How often a parsed string may itself turn out to hold strings to parse."""
NULLS = 32
"""How many nulls may stand for what is left out."""


class ArgumentsError(Refused):
    """A call's arguments do not fit its tool; the text tells the model what to send instead."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One place that does not fit. `wants` names the JSON types that would have fitted there;
    an `unknown` one is of no argument at all."""

    path: Path
    text: str
    wants: frozenset[str] = frozenset()
    unknown: bool = False


Find = Callable[[Plain], Sequence[Problem]]


def mended(arguments: Plain, find: Find) -> tuple[Plain, Sequence[Problem]]:
    """`arguments` with what models send in another spelling put right, and what still is wrong:
    JSON strings are parsed, and null stands for what is left out, each where only that fits.
    The given object is kept."""
    return without_nulls(*parse_strings(arguments, find), find)


def without_nulls(
    arguments: Plain, problems: Sequence[Problem], find: Find
) -> tuple[Plain, Sequence[Problem]]:
    """`arguments` without those nulls that fit nowhere and are not missed, and what is wrong."""
    nulls = dict.fromkeys(p.path for p in problems if not p.unknown and _is_null(arguments, p.path))
    for path in list(nulls)[:NULLS]:
        fewer = _removed(arguments, path)
        found = find(fewer)
        if len({p.path for p in found}) < len({p.path for p in problems}):
            arguments, problems = fewer, found
    return arguments, problems


def parse_strings(arguments: Plain, find: Find) -> tuple[Plain, Sequence[Problem]]:
    """`arguments` with JSON strings parsed where another type is wanted, and what still is wrong.

    Only a string whose parsed value has a wanted type is replaced; the given object is kept.
    """
    problems = find(arguments)
    for _ in range(ROUNDS):
        parsed = dict(_parsed(arguments, problems))
        if not parsed:
            break
        for path, value in parsed.items():
            arguments = _replaced(arguments, path, value)
        problems = find(arguments)
    return arguments, problems


def not_numbers(value: object, path: Path = ()) -> Iterator[Problem]:
    """Where `value` holds NaN or an infinity."""
    match value:
        case float() if not math.isfinite(value):
            yield Problem(path, f"should be a number, not {value}")
        case Mapping():
            for name, inner in value.items():
                yield from not_numbers(inner, (*path, str(name)))
        case list() | tuple():
            for number, inner in enumerate(value):
                yield from not_numbers(inner, (*path, number))


def told(tool: str, problems: Iterable[Problem]) -> ArgumentsError:
    """The error for these problems: one line for each place, a bounded number of them."""
    places: dict[Path, list[str]] = {}
    for problem in problems:
        texts = places.setdefault(problem.path, [])
        if problem.text not in texts:
            texts.append(problem.text)
    lines = [
        f"- {shown_path(path)}{' or '.join(texts)[:400]}"
        for path, texts in list(places.items())[:PROBLEMS_TOLD]
    ]
    if len(places) > PROBLEMS_TOLD:
        lines.append(f"- and {len(places) - PROBLEMS_TOLD} more")
    return ArgumentsError(
        f"The arguments do not fit {tool}, which was not run:\n"
        + "\n".join(lines)
        + "\nCall it again with arguments that fit."
    )


def shown(value: object, limit: int = 60) -> str:
    """A short view of a JSON value."""
    match value:
        case None | True | False:
            return json.dumps(value)
        case str():
            text = json.dumps(value[:limit], ensure_ascii=False)
            return text if len(value) <= limit else f'{text[:-1]}…" ({len(value)} characters)'
        case float():
            return repr(value)
        case int():
            return str(value) if value.bit_length() < 200 else "a very large integer"
        case list():
            return f"an array of {len(value)}"
        case dict():
            return f"an object with {len(value)} keys"
        case _:
            return f"a {type(value).__name__[:limit]}"


def shown_path(path: Path) -> str:
    """`lines[0].amount: `, or nothing for the arguments as a whole."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part[:60]}"
    return f"{text.removeprefix('.')[:200]}: " if text else ""


def json_type(value: object) -> str:
    """The JSON type of a plain value; every number is "number"."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def steps(loc: Path, tree: Any) -> Path:
    """The part of an error's place that is in `tree`: a union names its members too."""
    found: list[str | int] = []
    for part in loc:
        in_list = isinstance(tree, list) and isinstance(part, int) and part < len(tree)
        if in_list or (isinstance(tree, dict) and part in tree):
            found.append(part)
            tree = tree[part]
    return tuple(found)


def at(arguments: Any, path: Path) -> Any:
    """The value at `path`; None where there is none."""
    for part in path:
        try:
            arguments = arguments[part]
        except (LookupError, TypeError):
            return None
    return arguments


def _parsed(arguments: Plain, problems: Sequence[Problem]) -> Iterable[tuple[Path, object]]:
    wants: dict[Path, set[str]] = {}
    for problem in problems:
        if problem.wants:
            wants.setdefault(problem.path, set()).update(problem.wants)
    for path, types in wants.items():
        text = at(arguments, path)
        if not isinstance(text, str):
            continue
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        if json_type(value) in types:
            yield path, value


def _replaced(tree: Any, path: Path, value: object) -> Any:
    if not path:
        return value
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = _replaced(tree[path[0]], path[1:], value)
    return copy


def _is_null(arguments: Plain, path: Path) -> bool:
    """Whether a null stands at `path` under a name, where it may be left out."""
    if not path or not isinstance(path[-1], str):
        return False
    around = at(arguments, path[:-1])
    return isinstance(around, dict) and around.get(path[-1], around) is None


def _removed(arguments: Plain, path: Path) -> Plain:
    around = at(arguments, path[:-1])
    kept = {name: value for name, value in around.items() if name != path[-1]}
    removed: Plain = _replaced(arguments, path[:-1], kept)
    return removed


def _refuse(token: str) -> None:
    raise ValueError(f"{token} is not JSON")
