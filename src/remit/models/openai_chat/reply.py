"""Tools for servers that have no tool calling: each reply is one JSON object.

The object is a call or an answer; the schema that is sent along makes servers with grammars
keep to that. From a server without them a reply may be anything. Text that is no JSON object is
then the answer, since that is how such models answer. An object that names a tool is a call,
also where it is broken: the model is told so. Nothing inside of other text is ever a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remit.models.openai_chat.body import as_json, opening, plain
from remit.models.openai_chat.dialect import Dialect
from remit.models.openai_chat.history import Said, mended
from remit.models.openai_chat.pieces import Reader
from remit.models.request import CallChunk, Chunk, ModelRequest, StopChunk, TextChunk, ToolSpec
from remit.models.wire.events import DEEPEST
from remit.models.wire.plain import clean, is_deeper
from remit.values.errors import ConfigError

_RULE = (
    'Answer with one JSON object. If you need a tool, write {"tool": name, "arguments": {...}}.'
    ' When you know the answer, write {"answer": text}.'
)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_BEGUN_CALL = re.compile(r'\A\s*\{\s*"tool"\s*:\s*"([^"\\]*)"')
_BEGUN_ANSWER = re.compile(r'\A\s*\{\s*"answer"\s*:\s*("(?:[^"\\]|\\.)*)', re.DOTALL)


def build(
    request: ModelRequest, *, model: str, maker: str, dialect: Dialect, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The body that asks `model`, its tools described in the instructions.

    Without tools it is a plain request: the answer is then text, and streams as it comes.
    """
    body = plain(request, model=model, dialect=dialect)
    instructions = request.instructions
    if request.tools:
        described = "\n".join(_describe(tool) for tool in request.tools)
        instructions = f"{instructions}\n\n{_RULE}\n\n{described}".strip()
        schema = {"name": "reply", "schema": reply_schema(request.tools, request.tool_choice)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    told = _told(request, maker)
    body["messages"] = [
        *opening(instructions, dialect),
        *({"role": role, "content": text} for role, text in told),
    ]
    return clean(body | dict(options))  # type: ignore[no-any-return]  # a dict stays a dict


def read(text: str, tools: Iterable[str]) -> Iterator[Chunk]:
    """A whole reply as the call or the text that it is."""
    fenced = _FENCE.match(text)
    bare = fenced.group(1) if fenced else text
    reply = _object(bare)
    if reply is None:
        yield from _read_broken(text, bare)
        return
    name = reply.get("tool")
    if not isinstance(name, str) and reply.get("name") in list(tools):
        name = reply["name"]
    if isinstance(name, str):
        arguments = reply.get("arguments")
        yield CallChunk(0, name, "" if arguments is None else json.dumps(arguments))
    elif isinstance(reply.get("answer"), str):
        yield TextChunk(reply["answer"])
    else:
        yield TextChunk(text)


class Held:
    """A reply's text, kept back until it is whole."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def keep(self, chunks: list[Chunk]) -> Iterator[Chunk]:
        """`chunks` without their text."""
        for chunk in chunks:
            if isinstance(chunk, TextChunk):
                self._texts.append(chunk.text)
            else:
                yield chunk

    def tell(self, reader: Reader, request: ModelRequest) -> Iterator[Chunk]:
        """What the text was, and the rest of the answer."""
        text = "".join(self._texts)
        told = list(read(text, (tool.name for tool in request.tools)))
        yield from told
        for chunk in reader.close():
            called = chunk == StopChunk("end") and any(isinstance(c, CallChunk) for c in told)
            yield StopChunk("calls") if called else chunk


def reply_schema(tools: Iterable[ToolSpec], choice: str = "auto") -> dict[str, Any]:
    """What a reply may be: a call of one of `tools`, or an answer; less where `choice`, that of a
    request, says so."""
    definitions: dict[str, Any] = {}
    may = [t for t in tools if choice in ("auto", "required", t.name)]
    kinds = [_object_of(tool=_call_name(t), arguments=_arguments(t, definitions)) for t in may]
    if choice in ("auto", "none") or not kinds:
        kinds.append(_object_of(answer={"type": "string"}))
    return {"anyOf": kinds} | ({"$defs": definitions} if definitions else {})


def _told(request: ModelRequest, maker: str) -> list[tuple[str, str]]:
    """The conversation as who said what, in turns: the results of calls are the user's words."""
    told: list[tuple[str, str]] = []

    def tell(role: str, text: str) -> None:
        if told and told[-1][0] == role:
            text = f"{told.pop()[1]}\n\n{text}"
        told.append((role, text))

    for turn in mended(request.messages, maker):
        if isinstance(turn, Said):
            if turn.text is None:
                raise ConfigError('tools="json" sends text alone: no images and no PDFs')
            tell("user", turn.text)
            continue
        if turn.text:
            bare = turn.calls or not request.tools
            tell("assistant", turn.text if bare else as_json({"answer": turn.text}))
        for call, _ in turn.calls:
            tell("assistant", as_json({"tool": call.name, "arguments": call.arguments}))
        for call, result in turn.calls:
            tell("user", f"Result of {call.name}: {result.text}")
    return told


def _describe(tool: ToolSpec) -> str:
    properties = tool.schema.get("properties") or {}
    required = tool.schema.get("required") or ()
    arguments = [_argument(name, properties[name], name in required) for name in properties]
    described = f"Arguments: {'; '.join(arguments)}." if arguments else "No arguments."
    return f"Tool {tool.name}: {tool.description.strip()} {described}"


def _argument(name: str, schema: Any, needed: bool) -> str:
    """One argument in a few words; whatever has parts of its own as its schema."""
    known = schema if isinstance(schema, dict) else {}
    kind = known.get("type")
    if not isinstance(kind, str) or kind in ("object", "array") or "enum" in known:
        told = as_json({key: value for key, value in known.items() if key != "title"})
    else:
        words = str(known.get("description") or "").strip().rstrip(".")
        told = f"{kind}, {words[:1].lower()}{words[1:]}" if words else kind
    return f"{name} ({told})" if needed else f"{name} ({told}, may be left out)"


def _read_broken(text: str, bare: str) -> Iterator[Chunk]:
    """A reply that is no JSON object, or only the beginning of one."""
    call = _BEGUN_CALL.match(bare)
    answer = _BEGUN_ANSWER.match(bare)
    if call:
        yield CallChunk(0, call.group(1), bare)
    elif answer:
        yield TextChunk(_unquoted(answer.group(1)))
    elif text:
        yield TextChunk(text)


def _unquoted(begun: str) -> str:
    """The text of a JSON string that was cut off, maybe inside of an escape."""
    for cut in range(min(12, len(begun))):
        try:
            return str(json.loads(f'{begun[: len(begun) - cut]}"'))
        except ValueError:
            continue
    return begun[1:]


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not is_deeper(found, DEEPEST) else None


def _object_of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _call_name(tool: ToolSpec) -> dict[str, Any]:
    return {"const": tool.name}


def _arguments(tool: ToolSpec, definitions: dict[str, Any]) -> Any:
    """A tool's schema, its definitions moved to `definitions` under names of the tool's own."""
    own = {key: value for key, value in tool.schema.items() if key != "$defs"}
    for name, definition in (tool.schema.get("$defs") or {}).items():
        definitions[f"{tool.name}.{name}"] = _moved(definition, tool.name)
    return {"type": "object"} | _moved(own, tool.name)


def _moved(schema: Any, prefix: str) -> Any:
    if isinstance(schema, list):
        return [_moved(item, prefix) for item in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _moved(value, prefix) for key, value in schema.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        moved["$ref"] = f"#/$defs/{prefix}.{reference.removeprefix('#/$defs/')}"
    return moved
