"""What is kept of an answer, by why it stopped and by the form that it was to have."""

from __future__ import annotations

from dataclasses import dataclass

from remit.agent.answer.choice import met
from remit.agent.answer.malformed import Parts, Watched, holds_call, is_call, texts
from remit.agent.answer.typed import FINAL, Form, Read
from remit.agent.brakes import Brakes
from remit.models.assemble import Assembly, RawCall
from remit.values import codec
from remit.values.content import Text


@dataclass(frozen=True, slots=True)
class Terms:
    """What an agent's answers are held to: its brakes, the form that they have, and `names`, by
    which its tools are called, in whatever turn."""

    brakes: Brakes | None = None
    form: Form | None = None
    names: frozenset[str] = frozenset()


def read(
    watched: Watched | None,
    assembly: Assembly,
    terms: Terms,
    choice: str = "auto",
    *,
    whole: bool,
) -> Read:
    """What is kept of an answer, which was to be a call by the turn's `choice`. One that is not
    `whole` was not read to its end.

    A refusal is the last word, whatever call its text leads to. A value that fits the form is one
    whatever it looks like; a text in it that is a call is no answer.
    """
    if choice != "auto" and whole and assembly.stop in ("end", "calls"):
        found = read(watched, assembly, terms, whole=whole)
        return met(found, assembly.parts, choice, typed=terms.form is not None)
    parts, leak = (assembly.parts, None) if watched is None else watched.kept(assembly)
    if leak is not None and watched is not None and assembly.stop == "refusal":
        parts = watched.before(assembly)
    form = terms.form
    if form is None:
        return Read(parts, leak)
    if not whole or assembly.stop in ("length", "refusal"):
        return Read(_unended(parts, terms), leak)
    if leak is not None:
        found = form.read(assembly.parts)
        return Read([], leak) if found.misfit is not None else _sound(found, terms)
    return _sound(form.read(parts), terms)


def _sound(found: Read, terms: Terms) -> Read:
    """The value that was read, unless a text in it is a call."""
    if found.misfit is not None or any(isinstance(part, RawCall) for part in found.parts):
        return found
    text = "".join([part.text for part in found.parts if isinstance(part, Text)])
    if any(is_call(said, terms.names) for said in texts(codec.decode(text.encode(), object))):
        return Read([], text)
    return found


def _unended(parts: Parts, terms: Terms) -> Parts:
    """The parts of an answer that came to no end: what was given of the final one is its text."""
    rest: Parts = [part for part in parts if not isinstance(part, RawCall) or part.name != FINAL]
    if len(rest) == len(parts) or any(isinstance(part, RawCall) for part in rest):
        return rest
    final = next(part for part in parts if isinstance(part, RawCall))
    given = codec.encode(final.arguments).decode() if final.malformed is None else final.malformed
    return rest if holds_call(given, terms.names) else [*rest, Text(given)]
