"""What Gemini refuses (`models` from 3 on, which sign their calls), one rule each, with its words.

Two rules are stricter than Gemini itself: blank text is refused and not only empty text, and fields
have the names of its JSON, not those of its protocol buffers.
"""

from __future__ import annotations

from functools import partial

from remit.testing.provider.gemini_parts import (
    PART_RULES,
    first_calls_are_signed,
    invalid,
    signatures_fit,
    unknown,
)
from remit.testing.provider.gemini_tools import TOOL_RULES
from remit.testing.provider.plain_json import unsendable
from remit.testing.provider.refusal import Body, Refusal, RefusedError, Rule, first
from remit.testing.provider.signing import MAKER

_FIELDS = frozenset(
    [
        "cachedContent",
        "contents",
        "generationConfig",
        "labels",
        "safetySettings",
        "serviceTier",
        "store",
        "systemInstruction",
        "toolConfig",
        "tools",
    ]
)
_CONFIG = frozenset(
    [
        "candidateCount",
        "frequencyPenalty",
        "logprobs",
        "maxOutputTokens",
        "mediaResolution",
        "presencePenalty",
        "responseJsonSchema",
        "responseLogprobs",
        "responseMimeType",
        "responseModalities",
        "responseSchema",
        "seed",
        "stopSequences",
        "temperature",
        "thinkingConfig",
        "topK",
        "topP",
    ]
)
_THINKING = frozenset(["includeThoughts", "thinkingBudget", "thinkingLevel"])
_JSON = "application/json"


def check_gemini(body: Body, *, maker: str = MAKER) -> None:
    """Raise RefusedError for a body of a `generateContent` request that Gemini would refuse.

    Signatures have to be those of `maker`, as `sign_call`, `sign_text` and, for thoughts,
    `sign` give them.
    """
    refusal = refused_by_gemini(body, maker=maker)
    if refusal is not None:
        raise RefusedError(refusal)


def refused_by_gemini(body: Body, *, maker: str = MAKER) -> Refusal | None:
    """Gemini's refusal of a request's body; None for one that it takes."""
    return first((*RULES, partial(signatures_fit, maker=maker)), body)


def is_json(body: Body) -> Refusal | None:
    """All of it is JSON in UTF-8: no bare NaN, no half characters."""
    why = unsendable(body) if isinstance(body, dict) else "it is no object"
    return None if why is None else invalid(f"Invalid JSON payload received. {why}")


def fields_are_known(body: Body) -> Refusal | None:
    """No field that Gemini does not know."""
    for name in body:
        if name not in _FIELDS:
            return unknown(name)
    return None


def config_is_known(body: Body) -> Refusal | None:
    """The configuration has fields that Gemini knows, and a cap from 1 on."""
    config = body.get("generationConfig", {})
    if not isinstance(config, dict):
        return invalid("Invalid value at 'generation_config' (type.googleapis.com/google.ai)")
    for name in config:
        if name not in _CONFIG:
            return unknown(name, "generation_config")
    cap = config.get("maxOutputTokens", 1)
    if type(cap) is not int or cap < 1:
        words = "max_output_tokens must be positive."
        return invalid(f"* GenerateContentRequest.generation_config.max_output_tokens: {words}")
    for name in config.get("thinkingConfig", {}):
        if name not in _THINKING:
            return unknown(name, "generation_config.thinking_config")
    return None


def schema_has_its_type(body: Body) -> Refusal | None:
    """A schema of the answer is for JSON."""
    config = body.get("generationConfig", {})
    kind = config.get("responseMimeType")
    if ("responseJsonSchema" in config or "responseSchema" in config) and kind != _JSON:
        return invalid(
            "* GenerateContentRequest.generation_config.response_json_schema: only allowed when"
            f" response mimetype is {_JSON}"
        )
    return None


def instruction_is_said(body: Body) -> Refusal | None:
    """An instruction has parts of text alone, none of them blank."""
    if "systemInstruction" not in body:
        return None
    instruction = body["systemInstruction"]
    parts = instruction.get("parts") if isinstance(instruction, dict) else None
    if not isinstance(parts, list) or not parts:
        words = "contents.parts must not be empty."
        return invalid(f"* GenerateContentRequest.system_instruction.parts: {words}")
    for part in parts:
        if not isinstance(part, dict) or not str(part.get("text", "")).strip():
            return invalid("Unable to submit request because it must have a text parameter.")
    return None


RULES: tuple[Rule, ...] = (
    is_json,
    fields_are_known,
    config_is_known,
    instruction_is_said,
    *PART_RULES,
    *TOOL_RULES,
    schema_has_its_type,
    first_calls_are_signed,
)
