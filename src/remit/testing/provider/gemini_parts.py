"""What Gemini refuses in the contents of a request: roles, parts, turns and signatures."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from remit.testing.provider.refusal import Body, Refusal, Rule
from remit.testing.provider.signing import sign
from remit.values.content import sendable

UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What stands for the signature of a call that Gemini has not signed."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_ONE_OF = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
_BESIDE = ("thought", "thoughtSignature", "mediaResolution")
_INSIDE = {
    "inlineData": {"mimeType", "data", "displayName"},
    "fileData": {"mimeType", "fileUri", "displayName"},
    "functionCall": {"id", "name", "args"},
    "functionResponse": {"id", "name", "response", "parts"},
}
_ONLY = {
    "functionCall": "model",
    "functionResponse": "user",
    "inlineData": "user",
    "fileData": "user",
    "thought": "model",
    "thoughtSignature": "model",
}
_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)
_AFTER_USER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function"
    " response turn."
)
_AFTER_CALL = (
    "Please ensure that function response turn comes immediately after a function call turn."
)


def invalid(message: str) -> Refusal:
    """A refusal of what cannot be read or served."""
    return Refusal(message=message, type="INVALID_ARGUMENT")


def unknown(name: str, at: str | None = None) -> Refusal:
    """A refusal of a field that Gemini does not know."""
    place = f" at '{at}'" if at else ""
    words = f'Unknown name "{name}"{place}: Cannot find field.'
    return invalid(f"Invalid JSON payload received. {words}")


def sign_call(name: str, arguments: Any, maker: str) -> str:
    """The signature of a call by `maker`: it fits this very call alone."""
    written = json.dumps([name, arguments], sort_keys=True, ensure_ascii=False)
    return sign(sendable(written), maker)


def sign_text(maker: str) -> str:
    """The signature of an answer's text by `maker`. It stands for whatever was said: pieces of text
    may come and go as one."""
    return sign("text", maker)


def contents_are_contents(body: Body) -> Refusal | None:
    """There are contents, each with a role and parts alone."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return invalid("* GenerateContentRequest.contents: contents is not specified")
    for at, content in enumerate(contents):
        place = f"contents[{at}]"
        if not isinstance(content, dict):
            return invalid(f"Invalid value at '{place}' (type.googleapis.com/google.ai)")
        for name in content:
            if name not in ("role", "parts"):
                return unknown(name, place)
        if content.get("role", "user") not in ("user", "model"):
            return invalid("Please use a valid role: user, model.")
        if not isinstance(content.get("parts"), list) or not content["parts"]:
            words = "contents.parts must not be empty."
            return invalid(f"* GenerateContentRequest.{place}.parts: {words}")
    return None


def parts_are_parts(body: Body) -> Refusal | None:
    """Each part is one thing, with what that thing has and nothing else, in a content of the
    role that says such things."""
    for place, role, part in _parts(body):
        if not isinstance(part, dict):
            return invalid(f"Invalid value at '{place}' (type.googleapis.com/google.ai)")
        for name in part:
            if name not in (*_ONE_OF, *_BESIDE):
                return unknown(name, place)
            if _ONLY.get(name, role) != role:
                return invalid(f"{place}: `{name}` is not allowed in content with role '{role}'")
        held = [name for name in _ONE_OF if name in part]
        if len(held) != 1:
            return invalid(
                f"* GenerateContentRequest.{place}.data: required oneof field 'data' must have one"
                " initialized field"
            )
        found = _inside_fault(f"{place}.{held[0]}", part[held[0]], held[0])
        if found is not None:
            return found
    return None


def texts_are_said(body: Body) -> Refusal | None:
    """No text is empty or blank, but where a signature stands by itself."""
    for _, _, part in _parts(body):
        said = "text" not in part or str(part["text"]).strip() or part.get("thoughtSignature")
        if not said:
            return invalid("Unable to submit request because it must have a text parameter.")
    return None


def calls_have_results(body: Body) -> Refusal | None:
    """A turn with calls follows a user's, and all of its results follow in one."""
    before: Body = {"role": "model", "parts": []}
    contents = body["contents"]
    for content, after in pairwise([*contents, {"role": "user", "parts": []}]):
        calls = _held(content, "functionCall")
        if calls and before.get("role", "user") != "user":
            return invalid(_AFTER_USER)
        if calls and len(calls) != len(_held(after, "functionResponse")):
            return invalid(_COUNT)
        before = content
    return None


def results_have_calls(body: Body) -> Refusal | None:
    """A turn with results follows that of their calls, and says whose results they are."""
    before: Body = {"role": "user", "parts": []}
    for content in body["contents"]:
        results, calls = _held(content, "functionResponse"), _held(before, "functionCall")
        if results and not calls:
            return invalid(_AFTER_CALL)
        if results and len(results) != len(calls):
            return invalid(_COUNT)
        called = [(call.get("id"), call["name"]) for call in calls]
        if sorted(map(str, called)) != sorted(
            str((result.get("id"), result["name"])) for result in results or calls
        ):
            return invalid("Function response name and id must match those of the function call.")
        before = content
    return None


def first_calls_are_signed(body: Body) -> Refusal | None:
    """The first call of each step since the user's last word has a signature."""
    contents = body["contents"]
    for at in range(len(contents) - 1, -1, -1):
        content = contents[at]
        if content.get("role", "user") == "user":
            if not _held(content, "functionResponse"):
                return None
            continue
        for number, part in enumerate(content["parts"]):
            if "functionCall" not in part:
                continue
            if not part.get("thoughtSignature"):
                return invalid(
                    "Function call is missing a thought_signature in functionCall parts. This is"
                    " required for tools to work correctly: function call"
                    f" `{part['functionCall']['name']}`, position {at}.{number}."
                )
            break
    return None


def signatures_fit(body: Body, *, maker: str) -> Refusal | None:
    """Whatever is signed is signed by `maker`, and unchanged."""
    for place, _, part in _parts(body):
        given = part.get("thoughtSignature")
        if given is None:
            continue
        try:
            base64.b64decode(given, validate=True)
        except (binascii.Error, TypeError, ValueError):
            words = f'Base64 decoding failed for "{given}"'
            return invalid(f"Invalid value at '{place}.thought_signature' (TYPE_BYTES), {words}")
        if given not in _fitting(part, maker):
            return invalid(f"Thought signature is not valid at {place}.")
    return None


PART_RULES: tuple[Rule, ...] = (
    contents_are_contents,
    parts_are_parts,
    texts_are_said,
    calls_have_results,
    results_have_calls,
)


def _fitting(part: Body, maker: str) -> tuple[str, ...]:
    call = part.get("functionCall")
    if call is not None:
        return sign_call(call["name"], call.get("args", {}), maker), UNSIGNED
    return (sign(part["text"], maker) if part.get("thought") else sign_text(maker),)


def _parts(body: Body) -> Iterator[tuple[str, str, Any]]:
    for at, content in enumerate(body["contents"]):
        for number, part in enumerate(content["parts"]):
            yield f"contents[{at}].parts[{number}]", content.get("role", "user"), part


def _held(content: Body, kind: str) -> list[Body]:
    return [part[kind] for part in content["parts"] if kind in part]


def _inside_fault(place: str, held: object, kind: str) -> Refusal | None:
    if kind == "text":
        return (
            None if isinstance(held, str) else invalid(f"Invalid value at '{place}' (TYPE_STRING)")
        )
    if not isinstance(held, dict):
        return invalid(f"Invalid value at '{place}' (type.googleapis.com/google.ai)")
    for name in held:
        if name not in _INSIDE[kind]:
            return unknown(name, place)
    if kind in ("inlineData", "fileData"):
        needed = "data" if kind == "inlineData" else "fileUri"
        return None if held.get(needed) else invalid(f"{place}.{needed}: required field is not set")
    if not isinstance(held.get("name"), str) or NAME.fullmatch(held["name"]) is None:
        return invalid(f"* GenerateContentRequest.{place}.name: Invalid function name.")
    struct = "args" if kind == "functionCall" else "response"
    if not isinstance(held.get(struct, {} if struct == "args" else None), dict):
        words = "(type.googleapis.com/google.protobuf.Struct)"
        return invalid(f"Invalid value at '{place}.{struct}' {words}")
    return None
