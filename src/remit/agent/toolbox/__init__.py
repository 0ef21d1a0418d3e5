"""An agent's tools beside each other: which it may have, in what order they run, their list."""

from remit.agent.toolbox.admission import toolbox
from remit.agent.toolbox.inventory import Inventory, ToolEntry, entry
from remit.agent.toolbox.queue import groups

__all__ = ["Inventory", "ToolEntry", "entry", "groups", "toolbox"]
