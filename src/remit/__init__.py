"""Durable AI agents that stay within their remit."""

from remit.agent.agent import Agent
from remit.agent.budget import Budget
from remit.app import App
from remit.flow.run import WorkflowRun
from remit.flow.workflow import Workflow, workflow
from remit.kernel.lease import LeaseTerms
from remit.models.catalogue import Catalogue
from remit.models.pricing import Pricing
from remit.models.protocol import Card, Model
from remit.models.request import ModelRequest
from remit.sync import run_sync
from remit.tools.context import ToolContext
from remit.tools.tool import Tool, tool
from remit.values.errors import RemitError, ToolError
from remit.values.events import Event
from remit.values.identity import Caller
from remit.values.messages import Message
from remit.values.results import Pending, Result, Run, Turn
from remit.values.usage import Usage

__all__ = [
    "Agent",
    "App",
    "Budget",
    "Caller",
    "Card",
    "Catalogue",
    "Event",
    "LeaseTerms",
    "Message",
    "Model",
    "ModelRequest",
    "Pending",
    "Pricing",
    "RemitError",
    "Result",
    "Run",
    "Tool",
    "ToolContext",
    "ToolError",
    "Turn",
    "Usage",
    "Workflow",
    "WorkflowRun",
    "run_sync",
    "tool",
    "workflow",
]
