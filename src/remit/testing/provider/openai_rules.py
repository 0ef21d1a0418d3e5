"""What OpenAI's Chat Completions refuse, one rule each, with the vendor's words.

Two rules are stricter than OpenAI itself: blank text and ids that come again in a later turn are
refused by servers that are compatible with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from remit.testing.provider.openai_tools import TOOL_RULES, name_fault
from remit.testing.provider.plain_json import unsendable
from remit.testing.provider.refusal import Body, Refusal, RefusedError, Rule, first, repeated

_FIELDS = frozenset(
    [
        "messages",
        "model",
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    ]
)
_OF_ROLE = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "audio", "function_call", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
    "function": {"role", "content", "name"},
}
_LONGEST_ID = 40


def check_openai(body: Body, *, also: Collection[str] = ()) -> None:
    """Raise RefusedError for a body of a Chat Completions request that OpenAI would refuse.

    `also` names further fields of messages that the server takes, like `reasoning_content`.
    """
    refusal = refused_by_openai(body, also=also)
    if refusal is not None:
        raise RefusedError(refusal)


def refused_by_openai(body: Body, *, also: Collection[str] = ()) -> Refusal | None:
    """OpenAI's refusal of a request's body; None for one that it takes."""
    kept = body
    if also and isinstance(body, dict) and isinstance(body.get("messages"), list):
        kept = body | {"messages": [_without(message, also) for message in body["messages"]]}
    return first(RULES, kept)


def is_json(body: Body) -> Refusal | None:
    """All of it is JSON in UTF-8: no bare NaN, no half characters."""
    if isinstance(body, dict) and unsendable(body) is None:
        return None
    return Refusal(
        message="We could not parse the JSON body of your request. (HINT: This likely means you"
        " aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but"
        " what was sent was not valid JSON.)"
    )


def fields_are_known(body: Body) -> Refusal | None:
    """No field that the vendor does not know."""
    unknown = [name for name in body if name not in _FIELDS]
    if not unknown:
        return None
    s = "s" if len(unknown) > 1 else ""
    return Refusal(message=f"Unrecognized request argument{s} supplied: {', '.join(unknown)}")


def model_is_named(body: Body) -> Refusal | None:
    """A model is named."""
    if isinstance(body.get("model"), str) and body["model"]:
        return None
    return Refusal(message="you must provide a model parameter")


def messages_are_messages(body: Body) -> Refusal | None:
    """There are messages, each an object with a role and the fields of that role."""
    messages = body.get("messages")
    if messages is None:
        return _missing("messages")
    if not isinstance(messages, list):
        return _wrong_type("messages", "an array of objects", messages)
    if not messages:
        return _empty_array("messages")
    for at, message in enumerate(messages):
        found = _message_fault(f"messages[{at}]", message)
        if found is not None:
            return found
    return None


def contents_are_said(body: Body) -> Refusal | None:
    """No message is without content, and no text in it is blank."""
    for at, message in enumerate(body["messages"]):
        found = _content_fault(f"messages[{at}].content", message)
        if found is not None:
            return found
    return None


def calls_are_calls(body: Body) -> Refusal | None:
    """Calls have legal ids and names, and arguments that are a JSON object as text."""
    for at, message in enumerate(body["messages"]):
        if message.get("tool_calls") == []:
            return _empty_array(f"messages[{at}].tool_calls")
        for number, call in enumerate(_calls(message)):
            place = f"messages[{at}].tool_calls[{number}]"
            found = _id_fault(f"{place}.id", call) or _function_fault(place, call)
            if found is not None:
                return found
    return None


def ids_are_unique(body: Body) -> Refusal | None:
    """No two calls have one id."""
    ids = [call["id"] for message in body["messages"] for call in _calls(message)]
    for _, id in repeated(ids):
        return Refusal(message=f"Duplicate value for 'tool_call_id' of '{id}'", param="messages")
    return None


def calls_have_results(body: Body) -> Refusal | None:
    """Each call has its result in the messages right behind it."""
    messages = body["messages"]
    for at, message in enumerate(messages):
        behind = list(_results(messages[at + 1 :]))
        ids = {result.get("tool_call_id") for result in behind}
        missing = [call["id"] for call in _calls(message) if call["id"] not in ids]
        if missing:
            return Refusal(
                message="An assistant message with 'tool_calls' must be followed by tool messages"
                " responding to each 'tool_call_id'. The following tool_call_ids did not have"
                f" response messages: {', '.join(missing)}",
                param=f"messages.[{at + 1 + len(behind)}].role",
            )
    return None


def results_have_calls(body: Body) -> Refusal | None:
    """Each result stands behind its call, once."""
    waiting: list[str] | None = None
    for at, message in enumerate(body["messages"]):
        if message["role"] != "tool":
            waiting = [call["id"] for call in _calls(message)] or None
            continue
        id = message.get("tool_call_id")
        if id is None:
            return _missing(f"messages[{at}].tool_call_id")
        if waiting is None:
            return _unasked(at)
        if id not in waiting:
            return Refusal(
                message=f"Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of"
                " previous message.",
                param=f"messages.[{at}].tool_call_id",
            )
        waiting.remove(id)
    return None


def caps_are_numbers(body: Body) -> Refusal | None:
    """The most tokens of the answer are a number from 1 on, given once."""
    caps = ("max_tokens", "max_completion_tokens")
    if all(body.get(name) is not None for name in caps):
        return Refusal(
            message="Setting 'max_tokens' and 'max_completion_tokens' at the same time is not"
            " supported."
        )
    for name in caps:
        value = body.get(name)
        if value is not None and type(value) is not int:
            return _wrong_type(name, "an integer", value)
        if value is not None and value < 1:
            return Refusal(
                message=f"Invalid '{name}': integer below minimum value. Expected a value >= 1,"
                f" but got {value} instead.",
                param=name,
                code="integer_below_min_value",
            )
    return None


def options_have_a_stream(body: Body) -> Refusal | None:
    """`stream_options` are for streams."""
    if body.get("stream_options") is None or body.get("stream") is True:
        return None
    return Refusal(
        message="The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        param="stream_options",
    )


RULES: tuple[Rule, ...] = (
    is_json,
    fields_are_known,
    model_is_named,
    messages_are_messages,
    contents_are_said,
    calls_are_calls,
    ids_are_unique,
    calls_have_results,
    results_have_calls,
    caps_are_numbers,
    options_have_a_stream,
    *TOOL_RULES,
)


def _message_fault(place: str, message: object) -> Refusal | None:
    if not isinstance(message, dict):
        return _wrong_type(place, "an object", message)
    role = message.get("role")
    if not isinstance(role, str) or role not in _OF_ROLE:
        return Refusal(
            message=f"Invalid value: '{role}'. Supported values are: 'system', 'assistant',"
            " 'user', 'function', 'tool', and 'developer'.",
            param=f"{place}.role",
            code="invalid_value",
        )
    for name in message:
        if name not in _OF_ROLE[role]:
            where = f"{place}.{name}"
            words = f"Unknown parameter: '{where}'."
            return Refusal(message=words, param=where, code="unknown_parameter")
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        return _wrong_type(f"{place}.tool_calls", "an array of objects", calls)
    return None


def _content_fault(place: str, message: Body) -> Refusal | None:
    content = message.get("content")
    if content is None:
        if message["role"] == "assistant" and (_calls(message) or message.get("refusal")):
            return None
        words = "Invalid value for 'content': expected a string, got null."
        return Refusal(message=words, param=place)
    if isinstance(content, str):
        return None if content.strip() else _too_short(place, content)
    if not isinstance(content, list):
        return _wrong_type(place, "one of a string or array of objects", content)
    if not content:
        return _empty_array(place)
    for number, part in enumerate(content):
        where = f"{place}[{number}]"
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            return _missing(f"{where}.type")
        text = part.get("text")
        if part["type"] == "text" and not (isinstance(text, str) and text.strip()):
            return _too_short(f"{where}.text", text)
    return None


def _id_fault(place: str, call: Body) -> Refusal | None:
    id = call.get("id")
    if id is None:
        return _missing(place)
    if not isinstance(id, str):
        return _wrong_type(place, "a string", id)
    if not id:
        return _too_short(place, id)
    if len(id) > _LONGEST_ID:
        return Refusal(
            message=f"Invalid '{place}': string too long. Expected a string with maximum length"
            f" {_LONGEST_ID}, but got a string with length {len(id)} instead.",
            param=place,
            code="string_above_max_length",
        )
    return None


def _function_fault(place: str, call: Body) -> Refusal | None:
    if call.get("type", "function") != "function":
        return None
    function = call.get("function")
    if not isinstance(function, dict):
        return _missing(f"{place}.function")
    found = name_fault(f"{place}.function.name", function.get("name"))
    if found is not None:
        return found
    where, arguments = f"{place}.function.arguments", function.get("arguments")
    if not isinstance(arguments, str):
        return _wrong_type(where, "a string", arguments)
    if not _is_object(arguments):
        return Refusal(
            message=f"Invalid '{where}': expected a JSON object as text.",
            param=where,
            code="invalid_value",
        )
    return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _calls(message: Body) -> Sequence[Any]:
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return [call if isinstance(call, dict) else {} for call in calls or ()]


def _results(messages: Sequence[Body]) -> Iterator[Body]:
    for message in messages:
        if message["role"] != "tool":
            return
        yield message


def _unasked(at: int) -> Refusal:
    return Refusal(
        message="Invalid parameter: messages with role 'tool' must be a response to a preceeding"
        " message with 'tool_calls'.",
        param=f"messages.[{at}].role",
    )


def _without(message: object, names: Collection[str]) -> object:
    if not isinstance(message, dict):
        return message
    return {name: value for name, value in message.items() if name not in names}


def _missing(place: str) -> Refusal:
    words = f"Missing required parameter: '{place}'."
    return Refusal(message=words, param=place, code="missing_required_parameter")


def _wrong_type(place: str, expected: str, found: object) -> Refusal:
    kind = {"NoneType": "null", "str": "a string", "list": "an array", "dict": "an object"}
    got = kind.get(type(found).__name__, f"a value of type {type(found).__name__}")
    words = f"Invalid type for '{place}': expected {expected}, but got {got} instead."
    return Refusal(message=words, param=place, code="invalid_type")


def _empty_array(place: str) -> Refusal:
    return Refusal(
        message=f"Invalid '{place}': empty array. Expected an array with minimum length 1, but got"
        " an empty array instead.",
        param=place,
        code="empty_array",
    )


def _too_short(place: str, found: object) -> Refusal:
    got = "an empty string" if not found else "blank text"
    return Refusal(
        message=f"Invalid '{place}': empty string. Expected a string with minimum length 1, but"
        f" got {got} instead.",
        param=place,
        code="empty_string",
    )
