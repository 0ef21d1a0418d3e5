"""What an agent takes as one value each: brakes, folds and hooks."""

from remit.agent.brakes import Brakes
from remit.agent.fold import Fold
from remit.agent.hooks import HookContext, Hooks, ToolResult, TurnPlan

__all__ = ["Brakes", "Fold", "HookContext", "Hooks", "ToolResult", "TurnPlan"]
