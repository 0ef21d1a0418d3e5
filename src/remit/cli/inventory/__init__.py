"""`remit inventory`: everything that the agents of an app can do."""

from remit.cli.inventory.listing import inventory

__all__ = ["inventory"]
