"""An agent's tools: which it may have and call, in what order they run, the list of them."""

from remit.agent.toolbox.admission import toolbox
from remit.agent.toolbox.grants import allowed, grant
from remit.agent.toolbox.inventory import Inventory, ToolEntry, inventory
from remit.agent.toolbox.queue import groups

__all__ = ["Inventory", "ToolEntry", "allowed", "grant", "groups", "inventory", "toolbox"]
