"""Answers that a provider keeps to a schema by its own means."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.models.protocol import Card
from remit.models.request import ModelRequest


def by_schema(card: Card, request: ModelRequest) -> tuple[ModelRequest, dict[str, Any] | None]:
    """`request` as a provider is asked that keeps answers to a schema, and that schema: without
    the tool by which others answer. None, with the request as it is, where the model's card tells
    of no such means or the schema has no strict form.
    """
    output = request.output
    if output is None or output.strict is None or not card.structured:
        return request, None
    tools = tuple([tool for tool in request.tools if tool.name != output.tool])
    choice = request.tool_choice
    # The answer is as good as some call, and where it alone is wanted no tool may be called.
    choice = {"required": "auto", output.tool: "none"}.get(choice, choice)
    choice = choice if tools else "auto"
    return msgspec.structs.replace(request, tools=tools, tool_choice=choice), output.strict
