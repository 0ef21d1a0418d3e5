"""Answers that a provider keeps to a schema by its own means."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.models.protocol import Card
from remit.models.request import ModelRequest, OutputSpec


def by_schema(card: Card, request: ModelRequest) -> tuple[ModelRequest, dict[str, Any] | None]:
    """`request` as a provider is asked that keeps answers to a schema, and that schema: without
    the tool by which others answer. None, with the request as it is, where the model's card tells
    of no such means or the schema has no strict form.
    """
    output = request.output
    if output is None or not is_kept(card, output):
        return request, None
    tools = tuple([tool for tool in request.tools if tool.name != output.tool])
    choice = request.tool_choice
    if choice == output.tool:
        choice = "none"
    choice = choice if tools else "auto"
    return msgspec.structs.replace(request, tools=tools, tool_choice=choice), output.strict


def is_kept(card: Card, output: OutputSpec) -> bool:
    """Whether a model of this card is asked for such an answer by its provider's own means."""
    return card.structured and output.strict is not None
