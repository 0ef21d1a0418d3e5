"""The app's own word in a run."""

from remit.agent.hooks.hooked import Hooked
from remit.agent.hooks.hooks import HookContext, Hooks, Left, ToolResult, TurnPlan, check_in_place

__all__ = ["HookContext", "Hooked", "Hooks", "Left", "ToolResult", "TurnPlan", "check_in_place"]
