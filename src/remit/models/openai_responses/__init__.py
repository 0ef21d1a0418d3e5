"""OpenAI's Responses, and servers that speak them."""

from remit.models.openai_responses.model import OpenAIResponses

__all__ = ["OpenAIResponses"]
