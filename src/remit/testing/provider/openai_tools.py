"""What OpenAI refuses in the tools of a request."""

from __future__ import annotations

import re
from typing import Any

from remit.testing.provider.plain_json import Place, fault, schemas
from remit.testing.provider.refusal import Body, Refusal, Rule

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_NAME = 64


def tools_are_functions(body: Body) -> Refusal | None:
    """Where tools are given there is one at least, and each has a legal name."""
    tools = body.get("tools")
    if tools is None:
        return None
    if tools == []:
        return Refusal(
            message="Invalid 'tools': empty array. Expected an array with minimum length 1, but"
            " got an empty array instead.",
            param="tools",
            code="empty_array",
        )
    for at, tool in enumerate(tools):
        if tool.get("type") == "function":
            found = name_fault(f"tools[{at}].function.name", tool.get("function", {}).get("name"))
            if found is not None:
                return found
    return None


def choice_has_tools(body: Body) -> Refusal | None:
    """`tool_choice` is for requests with tools."""
    if body.get("tool_choice") is None or body.get("tools"):
        return None
    return Refusal(
        message="Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are"
        " specified.",
        param="tool_choice",
    )


def schemas_are_schemas(body: Body) -> Refusal | None:
    """The parameters of each function are a JSON Schema of an object, its arrays with items."""
    for at, function in _functions(body):
        schema = function.get("parameters", {"type": "object", "properties": {}})
        kind = schema.get("type") if isinstance(schema, dict) else None
        if kind != "object":
            told = "None" if kind is None else kind
            words = f"""schema must be a JSON Schema of 'type: "object"', got 'type: "{told}"'."""
            return _invalid(at, function, words)
        found = fault(schema)
        if found is not None:
            return _invalid(at, function, f"{found[1]}.", found[0])
        for place, inner in schemas(schema):
            if isinstance(inner, dict) and inner.get("type") == "array" and "items" not in inner:
                return _invalid(at, function, "array schema missing items.", place)
    return None


def strict_schemas_are_closed(body: Body) -> Refusal | None:
    """A strict function's objects name every property as required and allow no others."""
    for at, function in _functions(body):
        if function.get("strict") is not True:
            continue
        for place, inner in schemas(function.get("parameters", {})):
            why = _open(inner)
            if why is not None:
                return _invalid(at, function, why, place)
    return None


def answers_are_closed(body: Body) -> Refusal | None:
    """The schema that an answer is kept to is one and, where it is strict, a closed object's."""
    asked = body.get("response_format")
    if not isinstance(asked, dict) or asked.get("type") != "json_schema":
        return None
    kept = asked.get("json_schema") or {}
    found = name_fault("response_format.json_schema.name", kept.get("name"))
    if found is not None:
        return found
    schema = kept.get("schema")
    wrong = fault(schema)
    if wrong is not None:
        return _unkept(kept, f"In context={wrong[0]!r}, {wrong[1]}.")
    if kept.get("strict") is not True:
        return None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return _unkept(kept, """schema must be a JSON Schema of 'type: "object"'.""")
    for place, inner in schemas(schema):
        why = _open(inner)
        if why is not None:
            return _unkept(kept, f"In context={place!r}, {why}")
    return None


TOOL_RULES: tuple[Rule, ...] = (
    tools_are_functions,
    choice_has_tools,
    schemas_are_schemas,
    strict_schemas_are_closed,
    answers_are_closed,
)


def name_fault(place: str, name: object) -> Refusal | None:
    """The refusal of a function's name, None for a legal one."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return Refusal(
            message=f"Invalid '{place}': string does not match pattern. Expected a string that"
            " matches the pattern '^[a-zA-Z0-9_-]+$'.",
            param=place,
            code="invalid_value",
        )
    if len(name) > _LONGEST_NAME:
        return Refusal(
            message=f"Invalid '{place}': string too long. Expected a string with maximum length"
            f" {_LONGEST_NAME}, but got a string with length {len(name)} instead.",
            param=place,
            code="string_above_max_length",
        )
    return None


def _functions(body: Body) -> list[tuple[int, Body]]:
    tools = enumerate(body.get("tools") or ())
    return [(at, tool["function"]) for at, tool in tools if tool.get("type") == "function"]


def _open(schema: Any) -> str | None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    required = schema.get("required", ())
    for name in schema.get("properties", {}):
        if name not in required:
            return (
                "'required' is required to be supplied and to be an array including every key in"
                f" properties. Missing '{name}'."
            )
    return None


def _unkept(kept: Body, why: str) -> Refusal:
    return Refusal(
        message=f"Invalid schema for response_format '{kept.get('name')}': {why}",
        param="response_format",
    )


def _invalid(at: int, function: Body, why: str, place: Place | None = None) -> Refusal:
    context = "" if place is None else f"In context={place!r}, "
    return Refusal(
        message=f"Invalid schema for function '{function.get('name')}': {context}{why}",
        param=f"tools[{at}].function.parameters",
        code="invalid_function_parameters",
    )
