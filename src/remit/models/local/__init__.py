"""A model in this process: llama.cpp with a GGUF file of the user's."""

from remit.models.local.model import LocalModel

__all__ = ["LocalModel"]
