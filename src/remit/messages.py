"""A conversation's messages and their parts, and how they are saved and read again."""

from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from remit.values.saved import dump, load

__all__ = [
    "AssistantMessage",
    "Call",
    "Image",
    "Message",
    "Pdf",
    "Reasoning",
    "Text",
    "ToolMessage",
    "UserMessage",
    "dump",
    "load",
]
