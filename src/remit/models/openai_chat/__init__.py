"""OpenAI's Chat Completions, and every server that speaks them."""

from remit.models.openai_chat.dialect import Dialect
from remit.models.openai_chat.model import OpenAIChat

__all__ = ["Dialect", "OpenAIChat"]
