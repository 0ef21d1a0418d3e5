"""What OpenAI's Responses refuse, one rule each, with the vendor's words.

Three rules are stricter than OpenAI itself: blank text, items that remit never sends, and ids of
calls that come again in a later turn are refused by servers that are compatible with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from remit.testing.provider.openai_rules import is_json, model_is_named
from remit.testing.provider.openai_tools import TOOL_RULES
from remit.testing.provider.refusal import Body, Refusal, RefusedError, Rule, first, repeated
from remit.testing.provider.responses_items import (
    call_fault,
    kind_of,
    message_fault,
    output_fault,
    shape_fault,
)
from remit.testing.provider.responses_wire import FOR, encrypted
from remit.testing.provider.signing import MAKER

_FIELDS = frozenset(
    [
        "model",
        "input",
        "include",
        "instructions",
        "max_output_tokens",
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    ]
)
_LEAST_OUTPUT = 16
_FAULTS = {
    "message": message_fault,
    "function_call": call_fault,
    "function_call_output": output_fault,
}


def check_responses(body: Body, *, maker: str = MAKER) -> None:
    """Raise RefusedError for a body of a Responses request that OpenAI would refuse.

    Reasoning must be what `maker` signed, with the very item that it led to behind it.
    """
    refusal = refused_by_responses(body, maker=maker)
    if refusal is not None:
        raise RefusedError(refusal)


def refused_by_responses(body: Body, *, maker: str = MAKER) -> Refusal | None:
    """OpenAI's refusal of a request's body; None for one that it takes."""
    return first(RULES, body) or _reasoning_fault(body, maker)


def fields_are_known(body: Body) -> Refusal | None:
    """No field that the vendor does not know."""
    for name in body:
        if name not in _FIELDS:
            words = f"Unknown parameter: '{name}'."
            return Refusal(message=words, param=name, code="unknown_parameter")
    return None


def input_is_items(body: Body) -> Refusal | None:
    """There is input: text, or items of known types with the fields of those."""
    given = body.get("input")
    if given is None:
        words = "Missing required parameter: 'input'."
        return Refusal(message=words, param="input", code="missing_required_parameter")
    if not isinstance(given, list | str) or not given:
        words = "Invalid 'input': expected text or an array of items, and not an empty one."
        return Refusal(message=words, param="input", code="invalid_type")
    for at, item in _items(body):
        found = shape_fault(f"input[{at}]", item)
        if found is not None:
            return found
    return None


def items_are_whole(body: Body) -> Refusal | None:
    """Messages say something, calls can be made, outputs say whose they are."""
    for at, item in _items(body):
        check = _FAULTS.get(kind_of(item))
        found = check(f"input[{at}]", item) if check else None
        if found is not None:
            return found
    return None


def ids_are_unique(body: Body) -> Refusal | None:
    """No two items have one id, and no two calls or outputs one call's."""
    ids = [item["id"] for _, item in _items(body) if "id" in item]
    for _, id in repeated(ids):
        words = f"Duplicate item found with id {id}. Remove duplicate items from your input."
        return Refusal(message=words, param="input")
    for kind in ("function_call", "function_call_output"):
        for _, id in repeated([item["call_id"] for _, item in _items(body) if _is(item, kind)]):
            return Refusal(message=f"Duplicate '{kind}' with call_id {id}.", param="input")
    return None


def calls_have_outputs(body: Body) -> Refusal | None:
    """Each call has its output somewhere behind it."""
    outputs = {item["call_id"]: at for at, item in _items(body) if _is_output(item)}
    for at, item in _items(body):
        if _is(item, "function_call") and outputs.get(item["call_id"], -1) < at:
            words = f"No tool output found for function call {item['call_id']}."
            return Refusal(message=words, param="input")
    return None


def outputs_have_calls(body: Body) -> Refusal | None:
    """Each output has its call."""
    calls = {item["call_id"] for _, item in _items(body) if _is(item, "function_call")}
    for _, item in _items(body):
        if _is_output(item) and item["call_id"] not in calls:
            words = f"No tool call found for function call output with call_id {item['call_id']}."
            return Refusal(message=words, param="input")
    return None


def caps_are_numbers(body: Body) -> Refusal | None:
    """The most tokens of the answer are a number from 16 on."""
    cap = body.get("max_output_tokens")
    if cap is None or (type(cap) is int and cap >= _LEAST_OUTPUT):
        return None
    return Refusal(
        message="Invalid 'max_output_tokens': integer below minimum value. Expected a value >="
        f" {_LEAST_OUTPUT}, but got {cap} instead.",
        param="max_output_tokens",
        code="integer_below_min_value",
    )


def tools_are_tools(body: Body) -> Refusal | None:
    """Functions are as those of Chat Completions, and strict unless they say otherwise."""
    tools = body.get("tools")
    inner = {"tools": tools, "tool_choice": body.get("tool_choice")}
    if isinstance(tools, list):
        inner["tools"] = [_nested(tool) for tool in tools]
    found = first(TOOL_RULES, inner)
    return None if found is None else _flat(found)


def choice_is_there(body: Body) -> Refusal | None:
    """A tool that must be called is one of the tools."""
    choice = body.get("tool_choice")
    names = {tool.get("name") for tool in body.get("tools") or ()}
    if not isinstance(choice, dict) or choice.get("name") in names:
        return None
    words = f"Tool choice 'function' '{choice.get('name')}' not found in 'tools' parameter."
    return Refusal(message=words, param="tool_choice")


def formats_are_closed(body: Body) -> Refusal | None:
    """The form of an answer is named, and a schema that strict mode takes."""
    text = body.get("text") or {}
    form = text.get("format") or {}
    if form.get("type") != "json_schema":
        return None
    function = {key: form.get(key) for key in ("name", "strict")} | {
        "parameters": form.get("schema", {})
    }
    found = first(TOOL_RULES, {"tools": [{"type": "function", "function": function}]})
    if found is None:
        return None
    words = found.message.replace("schema for function", "schema for response_format")
    return replace(found, message=words, param="text.format.schema")


RULES: tuple[Rule, ...] = (
    is_json,
    fields_are_known,
    model_is_named,
    input_is_items,
    items_are_whole,
    ids_are_unique,
    calls_have_outputs,
    outputs_have_calls,
    caps_are_numbers,
    tools_are_tools,
    choice_is_there,
    formats_are_closed,
)


def _reasoning_fault(body: Body, maker: str) -> Refusal | None:
    """Reasoning is whole and signed, and stands before the item that it led to; and so the other
    way round."""
    items = [item for _, item in _items(body)]
    there = {item.get("id") for item in items}
    for at, item in enumerate(items):
        behind = items[at + 1] if at + 1 < len(items) else {}
        id = str(item.get("id", ""))
        if _is(item, "reasoning"):
            found = _unsigned(item, behind, body, maker)
            if found is not None:
                return found
        elif FOR in id and id.partition(FOR)[2] not in there:
            words = (
                f"Item '{id}' of type '{kind_of(item)}' was provided without its required"
                f" 'reasoning' item: '{id.partition(FOR)[2]}'."
            )
            return Refusal(message=words, param="input")
    return None


def _unsigned(item: Body, behind: Body, body: Body, maker: str) -> Refusal | None:
    id, kept = item.get("id", ""), item.get("encrypted_content")
    if kept is None and body.get("store") is False:
        return Refusal(
            status=404,
            message=f"Item with id '{id}' not found. Items are not persisted when `store` is set"
            " to false. Try again with `store` set to true, or remove this item from your input.",
            param="input",
        )
    follower = str(kept).partition(".")[0]
    words = "".join(part["text"] for part in item.get("summary", ()))
    if kept != encrypted(id, words, follower, maker):
        return Refusal(
            message="The encrypted content could not be verified. Reason: Encrypted content could"
            " not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )
    if behind.get("id") != follower:
        said = f"Item '{id}' of type 'reasoning' was provided without its required following item."
        return Refusal(message=said, param="input")
    return None


def _items(body: Body) -> Iterator[tuple[int, Any]]:
    given = body.get("input")
    yield from enumerate(given if isinstance(given, list) else ())


def _is(item: Body, kind: str) -> bool:
    return kind_of(item) == kind


def _is_output(item: Body) -> bool:
    return _is(item, "function_call_output")


def _nested(tool: Body) -> Body:
    if tool.get("type") != "function":
        return tool
    function = {key: value for key, value in tool.items() if key != "type"}
    return {"type": "function", "function": {"strict": True} | function}


def _flat(refusal: Refusal) -> Refusal:
    param = refusal.param and refusal.param.replace(".function", "")
    return replace(refusal, message=refusal.message.replace(".function.", "."), param=param)
