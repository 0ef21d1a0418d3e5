"""Answers of a type: what the model is asked for, and what it gave."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from remit.agent.answer.left_out import fitting
from remit.agent.answer.malformed import Parts, holds_call
from remit.models.assemble import RawCall
from remit.models.request import ModelRequest, OutputSpec, ToolSpec
from remit.tools.arguments import shown_path
from remit.tools.strict import Strict, strict
from remit.values import codec
from remit.values.content import Text, sendable
from remit.values.errors import ConfigError

FINAL: Final = "final_answer"
"""The name of the tool with which a model answers that has no structured output of its own."""
MISFITS: Final = 3
"""So many answers in a row that do not fit end the run."""

_DESCRIPTION = "Gives your final answer. Call it once, when everything else is done."
KEY = "answer"
_TOLD = 8
_SHOWN = 20_000


class Read(NamedTuple):
    """What is kept of a model's answer. With a `misfit`, which says what to mend, `raw` is the
    text that did not fit, and nothing else is kept."""

    parts: Parts
    raw: str | None = None
    misfit: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A type that an agent's answers have. In journals and requests they are plain JSON."""

    adapter: Any
    spec: ToolSpec
    output: OutputSpec
    wrapped: bool

    def asked(self, request: ModelRequest) -> ModelRequest:
        """The request, with the form that its answer is to have. Where no tool may be called the
        answer is what is left to give."""
        tools = (*request.tools, self.spec)
        choice = FINAL if request.tool_choice == "none" else request.tool_choice
        return msgspec.structs.replace(request, tools=tools, tool_choice=choice, output=self.output)

    def read(self, parts: Parts) -> Read:
        """The answer as its one text in JSON; parts with other calls are no answer yet, and what
        they say of one is left out."""
        calls = [part for part in parts if isinstance(part, RawCall)]
        finals = [call for call in calls if call.name == FINAL]
        others = [call for call in calls if call.name != FINAL]
        if others:
            return Read([p for p in parts if not isinstance(p, RawCall) or p.name != FINAL])
        said = "".join([part.text for part in parts if isinstance(part, Text)])
        # Of several answers the first one that fits counts; without any, the first.
        given = [self._given(call) for call in finals] or [self._unwrapped(said)]
        checked = [self._checked(raw) for raw in given]
        text, misfit = next((each for each in checked if each[1] is None), checked[0])
        if misfit is not None:
            return Read([], given[0], misfit)
        rest: Parts = [part for part in parts if not isinstance(part, Text | RawCall)]
        return Read([*rest, Text(text)])

    def build(self, plain: Any) -> Any:
        """The value that `plain` stands for; `plain` itself where it fits the type no more."""
        if plain is None:
            return None
        try:
            return self.adapter.validate_json(codec.encode(plain))
        except ValueError:
            return plain

    def _given(self, final: RawCall) -> str:
        if final.malformed is not None:
            return final.malformed
        whole = self.wrapped and set(final.arguments) == {KEY}
        return codec.encode(final.arguments[KEY] if whole else final.arguments).decode()

    def _unwrapped(self, said: str) -> str:
        """The answer in JSON that was `said`, out of the object that a strict schema puts it in."""
        if not self.wrapped or KEY not in said:
            return said
        try:
            found = codec.decode(said.encode(), object)
        except ValueError:
            return said
        if not isinstance(found, dict) or set(found) != {KEY}:
            return said
        inner = codec.encode(found[KEY]).decode()
        return inner if self._checked(inner)[1] is None else said

    def _checked(self, raw: str) -> tuple[str, str | None]:
        from pydantic import ValidationError

        try:
            value, given = fitting(self.adapter, sendable(raw))
            text: str = self.adapter.dump_json(value, by_alias=True).decode()
        except ValidationError as error:
            return "", _told(error)
        except ValueError as error:
            return "", f"- {error}"[:400]
        try:
            self.adapter.validate_json(text)
        except ValueError:
            # It reads one form and writes another: what was read is what can be read again.
            return given, None
        return text, None


def form_of(type_: Any, what: str) -> Form | None:
    """The form of answers of `type_`; None for text. Raises ConfigError, which begins with
    `what`, for what Pydantic cannot check."""
    if type_ is None or type_ is str:
        return None
    from pydantic import TypeAdapter

    if inspect.isroutine(type_):
        raise ConfigError(f"{what} must be a type, not the function {type_!r:.80}")
    if isinstance(type_, str):
        raise ConfigError(f"{what} must be the type itself, not its name {type_!r:.80}")
    try:
        adapter: Any = TypeAdapter(type_)
        schema: dict[str, Any] = adapter.json_schema()
    except Exception as error:
        raise ConfigError(
            f"{what} must be a type that Pydantic can check and describe, not {type_!r:.80}"
        ) from error
    wrapped = schema.get("type") != "object"
    asked = _wrapped(schema) if wrapped else schema
    spec = ToolSpec(FINAL, _DESCRIPTION, asked)
    output, form = OutputSpec(tool=FINAL, schema=schema), strict(asked)
    if isinstance(form, Strict):
        output = msgspec.structs.replace(output, strict=form.document, recursive=form.recursive)
    return Form(adapter, spec, output, wrapped)


def note(raw: str, misfit: str, names: frozenset[str]) -> str:
    """What the model is told of an answer that did not fit. A text that holds a call of one of
    these tools is not repeated: the model would write it again."""
    mend = "\n".join(line for line in misfit.split("\n") if not holds_call(line, names))
    mend = mend or "- all of it"
    shown = raw[:_SHOWN]
    said = "" if holds_call(shown, names) else f" It was:\n{shown}"
    return (
        f"Your last answer does not fit, and nobody has seen it.{said}\n\n"
        f"What to mend:\n{mend}\n\nGive the whole answer again: by calling {FINAL}"
        " where you have that tool, else as JSON alone."
    )


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    shared = inner.pop("$defs", None)
    outer = {"type": "object", "properties": {KEY: inner}, "required": [KEY]}
    return outer if shared is None else {**outer, "$defs": shared}


def _told(error: Any) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"- {shown_path(each['loc'])}{each['msg']}"[:400] for each in found[:_TOLD]]
    more = [f"- and {len(found) - _TOLD} more"] if len(found) > _TOLD else []
    return "\n".join(lines + more)


class Builds(Protocol):
    """What an output is built by from its plain form."""

    def build(self, plain: Any) -> Any: ...


def built(by: Builds | None, result: Any) -> Any:
    """`result`, a run's or a view of one, with its output as the value that it stands for."""
    if by is None or result is None or result.output is None:
        return result
    return msgspec.structs.replace(result, output=by.build(result.output))
