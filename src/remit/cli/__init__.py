"""Floor 7: a door: from arguments to commands to what people and programs read."""

from remit.cli.entry import main

__all__ = ["main"]
