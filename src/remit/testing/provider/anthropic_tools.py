"""What Anthropic refuses in the tools of a request."""

from __future__ import annotations

import re

from remit.testing.provider.plain_json import fault
from remit.testing.provider.refusal import Body, Refusal, Rule, repeated

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def names_are_legal(body: Body) -> Refusal | None:
    """Each tool has a legal name, and no two one name."""
    tools = body.get("tools") or ()
    for at, tool in enumerate(tools):
        name = tool.get("name")
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            return Refusal(
                message=f"tools.{at}.custom.name: String should match pattern '^{_NAME.pattern}$'"
            )
    for _ in repeated([tool["name"] for tool in tools]):
        return Refusal(message="tools: Tool names must be unique.")
    return None


def schemas_are_schemas(body: Body) -> Refusal | None:
    """The input of each tool is a JSON Schema of an object, with no union at its top."""
    for at, tool in enumerate(body.get("tools") or ()):
        if tool.get("type", "custom") != "custom":
            continue
        place, schema = f"tools.{at}.custom.input_schema", tool.get("input_schema")
        if schema is None:
            return Refusal(message=f"{place}: Field required")
        if not isinstance(schema, dict):
            return Refusal(message=f"{place}: Input should be an object")
        found = _fault(place, schema)
        if found is not None:
            return found
    return None


def choice_has_tools(body: Body) -> Refusal | None:
    """`tool_choice` is for requests with tools."""
    if body.get("tool_choice") is None or body.get("tools"):
        return None
    words = "tool_choice: tool_choice may only be specified while providing tools"
    return Refusal(message=words)


TOOL_RULES: tuple[Rule, ...] = (names_are_legal, schemas_are_schemas, choice_has_tools)


def _fault(place: str, schema: Body) -> Refusal | None:
    if "type" not in schema:
        return Refusal(message=f"{place}.type: Field required")
    if schema["type"] != "object":
        return Refusal(message=f"{place}.type: Input should be 'object'")
    if any(name in schema for name in ("oneOf", "allOf", "anyOf")):
        return Refusal(
            message=f"{place}: input_schema does not support oneOf, allOf, or anyOf at the top"
            " level"
        )
    if fault(schema) is not None:
        return Refusal(
            message=f"{place}: JSON schema is invalid. It must match JSON Schema draft 2020-12"
            " (https://json-schema.org/draft/2020-12)."
        )
    return None
