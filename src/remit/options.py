"""What an agent takes as one value each: brakes, folds, hooks and retries."""

from remit.agent.brakes import Brakes
from remit.agent.fold import Fold
from remit.agent.hooks import HookContext, Hooks, ToolResult, TurnPlan
from remit.models.retry import Retry

__all__ = ["Brakes", "Fold", "HookContext", "Hooks", "Retry", "ToolResult", "TurnPlan"]
