"""Which model answers, and what follows where one fails."""

from remit.agent.routing.route import Route

__all__ = ["Route"]
