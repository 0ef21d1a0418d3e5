"""From a model request to the body of a Gemini request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from remit.models.google.names import sent_name
from remit.models.google.thinking import Thinking
from remit.models.google.turns import contents
from remit.models.protocol import Card
from remit.models.request import ModelRequest, ToolSpec
from remit.models.structured import by_schema
from remit.models.wire.plain import clean

CONFIG = "generationConfig"


def build(
    request: ModelRequest,
    *,
    maker: str,
    card: Card,
    thinking: Thinking | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The body that asks, with the tools described as functions.

    The same request gives the same bytes, and one turn more only adds to its contents at the end,
    which is what caches of prompts go by. `maker` is whose reasoning may be sent back.
    """
    request, schema = _form(card, request)
    body: dict[str, Any] = {}
    if request.instructions.strip():
        body["systemInstruction"] = {"parts": [{"text": request.instructions}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_function(tool) for tool in request.tools]}]
        if request.tool_choice != "auto":
            body["toolConfig"] = {"functionCallingConfig": _choice(request.tool_choice)}
    config: dict[str, Any] = {"maxOutputTokens": request.max_output}
    if schema is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": _plain(schema)}
    if thinking is not None and thinking.asked:
        config["thinkingConfig"] = thinking.asked
    body[CONFIG] = config | dict(options.get(CONFIG) or {})
    body |= {name: value for name, value in options.items() if name != CONFIG}
    body["contents"] = contents(request.messages, maker)
    return clean(body)  # type: ignore[no-any-return]  # a dict stays a dict


def _form(card: Card, request: ModelRequest) -> tuple[ModelRequest, dict[str, Any] | None]:
    """The request to send, and the schema that its answer is held to. Beside tools models before 3
    refuse a schema, and the answer is a call unless the card tells otherwise; without tools all
    take one. One that holds itself they take in part alone."""
    output = request.output
    if output is None or output.recursive:
        return request, None
    request, schema = by_schema(card, request)
    if schema is None and all(tool.name == output.tool for tool in request.tools):
        request, schema = replace(request, tools=(), tool_choice="auto"), output.schema
    return request, schema


def _choice(choice: str) -> dict[str, Any]:
    if choice == "none":
        return {"mode": "NONE"}
    if choice == "required":
        return {"mode": "ANY"}
    return {"mode": "ANY", "allowedFunctionNames": [sent_name(choice)]}


def _function(tool: ToolSpec) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}} | _plain(tool.schema)
    return {
        "name": sent_name(tool.name),
        "description": tool.description,
        "parametersJsonSchema": parameters,
    }


def _plain(schema: Any) -> Any:
    """`schema` in the words that Gemini knows: nothing stands beside a reference, a constant is
    one choice, and of two or more schemas any may hold."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _inside(name, value) for name, value in schema.items() if name not in _UNKNOWN}
    if "const" in schema:
        found["enum"] = [found.pop("const")]
    if "oneOf" in found and "anyOf" not in found:
        found["anyOf"] = found.pop("oneOf")
    reference = found.get("$ref")
    if reference is None or all(name.startswith("$") for name in found):
        return found
    return {name: value for name, value in found.items() if name != "$ref"} | {
        "anyOf": [{"$ref": reference}]
    }


_UNKNOWN = ("$schema", "discriminator", "examples")
_SCHEMAS = ("properties", "$defs", "definitions", "patternProperties")


def _inside(name: str, value: Any) -> Any:
    if name in _SCHEMAS and isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value if name in ("const", "enum", "default") else _plain(value)
