"""What is kept of an answer's items beside their text, to give it back to their maker.

A reasoning item is kept whole, as the signature of its part. What a message is kept by stands in
a part of its own before the text, of the form `message`; so does, for an item that cannot be given
back, that there was one, for reasoning goes back only with the very item that it led to.
"""

from __future__ import annotations

import json
from typing import Any

from remit.models.request import ReasoningChunk
from remit.values.content import Reasoning

Item = dict[str, Any]

MESSAGE = "message"
_OF_MESSAGE = ("id", "phase")
_STATUS = "status"


def reasoning(item: Item) -> ReasoningChunk | None:
    """The end of a reasoning item's part; None for one that holds nothing which can be given
    back, since the server keeps nothing under its id."""
    if not (item.get("encrypted_content") or item.get("content")):
        return None
    # Servers want a summary back, and refuse the status and what is null.
    kept = {name: value for name, value in item.items() if value is not None and name != _STATUS}
    kept.setdefault("summary", [])
    return ReasoningChunk("", json.dumps(kept, separators=(",", ":")))


def message(item: Item) -> ReasoningChunk:
    """What stands before a message's text."""
    kept = {name: item[name] for name in _OF_MESSAGE if isinstance(item.get(name), str)}
    return ReasoningChunk("", json.dumps(kept, separators=(",", ":")), MESSAGE)


def other(item: Item) -> ReasoningChunk:
    """What stands for an item that is not given back, such as a search that the server made."""
    kind = str(item.get("type"))
    return ReasoningChunk("", json.dumps({"id": item.get("id")}), kind)


def read(part: Reasoning) -> Item | None:
    """What a part of these keeps; None for reasoning that is kept as text alone."""
    try:
        found = json.loads(part.signature or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
