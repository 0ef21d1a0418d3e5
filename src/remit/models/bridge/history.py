"""A request of remit's in pydantic-ai's terms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from remit.models.request import ModelRequest
from remit.models.wire.plain import clean
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

_KEPT = ("id", "signature", "provider_name", "provider_details")
_EMPTY_RESULT = "(empty)"
_Outcome = Literal["success", "failed", "denied"]


def keep(part: Any) -> str | None:
    """What a part's maker wants back with it, as text that a journal can keep; None for nothing."""
    found = {name: getattr(part, name, None) for name in _KEPT}
    kept = {name: value for name, value in found.items() if value}
    # Whose it is says nothing where there is nothing to give back.
    return json.dumps(kept, default=str) if kept.keys() - {"provider_name"} else None


def conversation(request: ModelRequest) -> list[theirs.ModelMessage]:
    """The messages, adjacent ones of the same side as one."""
    found: list[theirs.ModelMessage] = []
    for message in request.messages:
        said = _said(message, request.instructions)
        last = found[-1] if found else None
        if isinstance(said, theirs.ModelRequest) and isinstance(last, theirs.ModelRequest):
            last.parts = [*last.parts, *said.parts]
        elif said.parts:
            found.append(said)
    return found


def parameters(request: ModelRequest) -> ModelRequestParameters:
    """The tools."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=clean(tool.description),
                parameters_json_schema={"type": "object", "properties": {}} | clean(tool.schema),
            )
            for tool in request.tools
        ]
    )


def _said(message: Message, instructions: str) -> theirs.ModelRequest | theirs.ModelResponse:
    told = clean(instructions) if instructions.strip() else None
    match message:
        case UserMessage():
            content = [_content(part) for part in message.content]
            whole = clean(message.text) if not message.files else content
            return theirs.ModelRequest(parts=[theirs.UserPromptPart(whole)], instructions=told)
        case ToolMessage():
            return theirs.ModelRequest(parts=[_result(message)], instructions=told)
        case AssistantMessage():
            parts = list(_parts(message.content))
            makers = (getattr(part, "provider_name", None) for part in parts)
            maker = next((name for name in makers if name), None)
            return theirs.ModelResponse(parts=parts, provider_name=maker)


def _content(part: Text | Image | Pdf) -> theirs.UserContent:
    match part:
        case Text():
            return clean(part.text)  # type: ignore[no-any-return]  # text stays text
        case Image() if part.url:
            return theirs.ImageUrl(url=part.url)
        case Image():
            return theirs.BinaryContent(part.data, media_type=part.media_type or "image/png")
        case Pdf() if part.url:
            return theirs.DocumentUrl(url=part.url, _media_type="application/pdf")
        case Pdf():
            return theirs.BinaryContent(part.data, media_type="application/pdf")


def _result(message: ToolMessage) -> theirs.ToolReturnPart:
    outcome: _Outcome = "success"
    if message.status != "ok":
        outcome = "denied" if message.status == "denied" else "failed"
    return theirs.ToolReturnPart(
        tool_name=message.tool,
        content=clean(message.text) if message.text.strip() else _EMPTY_RESULT,
        tool_call_id=message.call_id,
        outcome=outcome,
    )


def _parts(content: Iterable[Text | Reasoning | Call]) -> Iterator[theirs.ModelResponsePart]:
    for part in content:
        match part:
            case Text():
                if part.text.strip():
                    yield theirs.TextPart(clean(part.text))
            case Reasoning():
                yield theirs.ThinkingPart(part.text, **_given_back(part.signature))
            case Call():
                yield theirs.ToolCallPart(
                    tool_name=part.name,
                    args=clean(part.arguments),
                    tool_call_id=part.id,
                    **_given_back(part.signature),
                )


def _given_back(kept: str | None) -> dict[str, Any]:
    """What `keep` kept."""
    if kept is None:
        return {}
    found: dict[str, Any] = json.loads(kept)
    return found
