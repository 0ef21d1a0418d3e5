"""A bridge to the models of pydantic-ai, for makers that remit has no adapter for."""

from remit.models.bridge.model import Bridge

__all__ = ["Bridge"]
