"""Google's Gemini, by its own interface."""

from remit.models.google.model import GoogleGemini
from remit.models.google.thinking import Thinking

__all__ = ["GoogleGemini", "Thinking"]
