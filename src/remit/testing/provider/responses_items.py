"""What OpenAI's Responses refuse in one item of a request's input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from remit.testing.provider.openai_tools import name_fault
from remit.testing.provider.refusal import Body, Refusal

_FIELDS: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content"}),
    "function_call": frozenset({"type", "id", "call_id", "name", "arguments", "status"}),
    "function_call_output": frozenset({"type", "id", "call_id", "output", "status"}),
}
_STEMS = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_ROLES = {
    "user": ("input_text", "input_image", "input_file"),
    "system": ("input_text", "input_image", "input_file"),
    "developer": ("input_text", "input_image", "input_file"),
    "assistant": ("output_text", "refusal"),
}
_LONGEST_ID = 64


def kind_of(item: Body) -> str:
    """An item's type; one without is a message."""
    return str(item.get("type", "message"))


def shape_fault(place: str, item: object) -> Refusal | None:
    """The refusal of what is no item, or holds a field that its type has not."""
    if not isinstance(item, dict):
        return _wrong(place, "invalid_type", "expected an object.")
    kind = kind_of(item)
    if kind not in _FIELDS:
        return _wrong_value(f"{place}.type", kind, tuple(_FIELDS))
    for name, value in item.items():
        where = f"{place}.{name}"
        if name not in _FIELDS[kind]:
            words = f"Unknown parameter: '{where}'."
            return Refusal(message=words, param=where, code="unknown_parameter")
        if value is None:
            return _wrong(where, "invalid_type", "expected a value, but got null instead.")
    return _id_fault(f"{place}.id", item.get("id"), _STEMS.get(kind, ""))


def message_fault(place: str, item: Body) -> Refusal | None:
    """The refusal of a message without a role, or with nothing or blank text in it."""
    role, content = item.get("role"), item.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        return _wrong_value(f"{place}.role", role, tuple(_ROLES))
    where = f"{place}.content"
    if isinstance(content, str):
        return None if content.strip() else _blank(where)
    if not isinstance(content, list) or not content:
        return _missing(where) if content is None else _blank(where)
    for number, part in enumerate(content):
        inside = f"{where}[{number}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _ROLES[role]:
            return _wrong_value(f"{inside}.type", kind, _ROLES[role])
        text = part.get("text", part.get("refusal"))
        if kind in ("input_text", "output_text", "refusal") and not (text and text.strip()):
            return _blank(f"{inside}.text")
    return None


def call_fault(place: str, item: Body) -> Refusal | None:
    """The refusal of a call without a legal id, a legal name or a JSON object as arguments."""
    found = _call_id_fault(f"{place}.call_id", item.get("call_id"))
    found = found or name_fault(f"{place}.name", item.get("name"))
    if found is not None or _is_object(item.get("arguments")):
        return found
    where = f"{place}.arguments"
    return _wrong(where, "invalid_value", "expected a JSON object as text.")


def output_fault(place: str, item: Body) -> Refusal | None:
    """The refusal of an output without its call's id, or that says nothing."""
    output = item.get("output")
    said = output.strip() if isinstance(output, str) else output
    found = _call_id_fault(f"{place}.call_id", item.get("call_id"))
    return found if found is not None or said else _blank(f"{place}.output")


def _id_fault(place: str, id: Any, stem: str) -> Refusal | None:
    if id is None:
        return None
    if not isinstance(id, str) or not id.startswith(stem):
        return Refusal(
            message=f"Invalid '{place}': '{id}'. Expected an ID that begins with '{stem}'.",
            param=place,
            code="invalid_value",
        )
    return None


def _call_id_fault(place: str, id: object) -> Refusal | None:
    if id is None:
        return _missing(place)
    if not isinstance(id, str) or not id:
        return _wrong(place, "empty_string", "empty string.")
    if len(id) > _LONGEST_ID:
        words = f"string too long. Expected a string with maximum length {_LONGEST_ID}."
        return _wrong(place, "string_above_max_length", words)
    return None


def _is_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text, parse_constant=_no), dict)
    except (ValueError, RecursionError):
        return False


def _no(constant: str) -> None:
    raise ValueError(constant)


def _blank(place: str) -> Refusal:
    return _wrong(place, "empty_string", "empty string. Expected text that is not blank.")


def _missing(place: str) -> Refusal:
    words = f"Missing required parameter: '{place}'."
    return Refusal(message=words, param=place, code="missing_required_parameter")


def _wrong(place: str, code: str, why: str) -> Refusal:
    return Refusal(message=f"Invalid '{place}': {why}", param=place, code=code)


def _wrong_value(place: str, found: object, known: tuple[str, ...]) -> Refusal:
    told = ", ".join(f"'{name}'" for name in known)
    return Refusal(
        message=f"Invalid value: '{found}'. Supported values are: {told}.",
        param=place,
        code="invalid_value",
    )
