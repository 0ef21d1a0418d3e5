"""Anthropic's Messages, and every server that speaks them."""

from remit.models.anthropic.model import AnthropicMessages

__all__ = ["AnthropicMessages"]
