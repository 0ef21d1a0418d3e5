"""What every model has that is asked over a network, through its maker's own package."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from remit.models.wire.clients import Clients
from remit.models.wire.options import check_server
from remit.values.errors import ConfigError


class Served:
    """A model on a server. Its `model` is told without the `provider` before it."""

    provider: str
    model: str
    _clients: Clients

    @property
    def name(self) -> str:
        """`provider:model`, as it stands in records."""
        return f"{self.provider}:{self.model}"

    async def prepare(self) -> None:
        """Load the package and read the key now, and not at the first call.

        Raises ConfigError where one is missing.
        """
        await self._clients.open()

    def _begin(self, clients: Clients) -> None:
        """Be asked through `clients`."""
        object.__setattr__(self, "model", self.model.removeprefix(f"{self.provider}:"))
        object.__setattr__(self, "_clients", clients)


def check_asked(model: Any, own: str) -> None:
    """`check_server`, and raise ConfigError for no name of a model, for options that belong to the
    client that is given, and for a client that is no asynchronous one like `own`."""
    check_server(model)
    check_client(model)
    kind = type(model).__name__
    if not isinstance(model.model, str) or not model.model.strip():
        raise ConfigError(f"{kind} needs the model's name on the server, not {model.model!r}")
    if model.client is not None and not _is_async(model.client):
        raise ConfigError(f"{kind}.client must be an {own}, not {model.client!r}")


def check_client(model: Any) -> None:
    """Raise ConfigError for options that belong to the client that is given."""
    if model.client is not None and (model.base_url or model.api_key):
        raise ConfigError(
            f"{type(model).__name__}: base_url= and api_key= belong to the client that is given"
        )


def check_taken(model: Any, options: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    """Raise ConfigError for `names` among the options, for the reason `why`."""
    taken = sorted(set(options) & set(names))
    if taken:
        raise ConfigError(f"{type(model).__name__}.options cannot hold {', '.join(taken)}: {why}")


def _is_async(client: object) -> bool:
    return hasattr(client, "with_options") and inspect.iscoroutinefunction(
        getattr(client, "close", None)
    )
