"""Making a long history shorter for the model."""

from remit.agent.fold.options import Fold

__all__ = ["Fold"]
