"""What Gemini refuses in the tools of a request."""

from __future__ import annotations

from remit.testing.provider.gemini_parts import NAME, invalid, unknown
from remit.testing.provider.plain_json import fault, schemas
from remit.testing.provider.refusal import Body, Refusal, Rule, repeated

_FIELDS = frozenset(["name", "description", "parametersJsonSchema", "parameters", "behavior"])
_MODES = ("AUTO", "ANY", "NONE", "VALIDATED")


def tools_are_functions(body: Body) -> Refusal | None:
    """Each tool declares functions, with legal names, of which no two are one."""
    for place, function in _functions(body):
        for field in function:
            if field not in _FIELDS:
                return unknown(field, place)
        name = function.get("name")
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            return invalid(
                f"* GenerateContentRequest.{place}.name: Invalid function name. Must start with a"
                " letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_),"
                " dots (.), colons (:), or dashes (-), with a maximum length of 64."
            )
    for _, name in repeated(_names(body)):
        return invalid(f"Duplicate function declaration found: {name}")
    return None


def schemas_are_schemas(body: Body) -> Refusal | None:
    """The parameters of each function are a JSON Schema of an object, and so is an answer's
    schema one; nothing stands beside a reference in it."""
    for place, function in _functions(body):
        schema = function.get("parametersJsonSchema", {"type": "object"})
        at = f"* GenerateContentRequest.{place}.parameters_json_schema"
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return invalid(f"{at}: schema must describe an object")
        if fault(schema) is not None:
            return invalid(f"{at}: not a valid JSON schema")
    answer = body.get("generationConfig", {}).get("responseJsonSchema")
    if answer is None:
        return None
    at = "* GenerateContentRequest.generation_config.response_json_schema"
    if fault(answer) is not None:
        return invalid(f"{at}: not a valid JSON schema")
    for _, inner in schemas(answer):
        beside = isinstance(inner, dict) and [name for name in inner if not name.startswith("$")]
        if isinstance(inner, dict) and "$ref" in inner and beside:
            return invalid(f"{at}: $ref cannot be used with other fields")
    return None


def choice_has_functions(body: Body) -> Refusal | None:
    """Whether and what may be called is said of functions that there are."""
    if "toolConfig" not in body:
        return None
    config = body["toolConfig"].get("functionCallingConfig", {})
    mode, allowed = config.get("mode", "AUTO"), config.get("allowedFunctionNames", [])
    if mode not in _MODES:
        return invalid(f"Invalid value at 'tool_config.function_calling_config.mode': {mode!r}")
    if not body.get("tools"):
        return invalid("Function calling config is set without function_declarations.")
    if allowed and mode not in ("ANY", "VALIDATED"):
        return invalid("Allowed function names should only be set when the mode is ANY.")
    for name in allowed:
        if name not in _names(body):
            return invalid(f"Function {name} in allowed_function_names is not declared.")
    return None


TOOL_RULES: tuple[Rule, ...] = (tools_are_functions, schemas_are_schemas, choice_has_functions)


def _functions(body: Body) -> list[tuple[str, Body]]:
    return [
        (f"tools[{at}].function_declarations[{number}]", function)
        for at, tool in enumerate(body.get("tools") or ())
        for number, function in enumerate(tool.get("functionDeclarations") or ())
    ]


def _names(body: Body) -> list[str]:
    return [function["name"] for _, function in _functions(body)]
