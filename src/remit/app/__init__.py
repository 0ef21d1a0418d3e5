"""Floor 5: the App, which joins a store, agents and a worker. The one place where all meet."""

from remit.app.app import App

__all__ = ["App"]
