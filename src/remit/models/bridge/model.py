"""Any model of pydantic-ai as a model of remit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest
from remit.models.wire.clients import Clients, sdk
from remit.models.wire.costing import costing
from remit.models.wire.options import check_asking
from remit.values.errors import ConfigError, RemitError

_OURS = ("max_tokens", "max_retries", "tool_choice", "timeout")
_MEMBERS = ("request_stream", "model_name", "system")


@dataclass(frozen=True, kw_only=True, eq=False)
class Bridge:
    """A model of pydantic-ai (`pip install '.[bridge]'`), for what no adapter of remit's knows.

    `model` is pydantic-ai's name of it, like `groq:llama-3.3-70b-versatile`, or one of its `Model`
    objects, whose clients are the caller's to close. It is asked without retries of its client's
    own, as far as pydantic-ai's `max_retries` reaches, and never runs tools of the provider's.
    `bridge:` and its name stand in records.

    `timeout` is how many seconds may pass without a piece of the answer. `settings` are further
    `ModelSettings`, like `{"temperature": 0}`.
    """

    model: Any = field(kw_only=False)
    card: Card = field(default_factory=Card)
    timeout: float = 300.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    _clients: Clients = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self)
        own = None if isinstance(self.model, str) else self.model
        object.__setattr__(self, "_clients", Clients(own, partial(_open, self.model)))

    @property
    def name(self) -> str:
        """`bridge:` and the model's name, as it stands in records."""
        if isinstance(self.model, str):
            return f"bridge:{self.model}"
        return f"bridge:{self.model.system}:{self.model.model_name}"

    async def prepare(self) -> None:
        """Load the packages and make the model now, and not at the first call.

        Raises ConfigError for a missing package or key, and for a name that pydantic-ai does not
        know.
        """
        await self._clients.open()

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, as they come.

        Raises ConfigError for what cannot be asked at all, ProviderError for what the provider
        refuses or reports, and ConnectionFailedError where it cannot be reached, falls silent or
        is cut off.
        """
        opened = await self._clients.open()
        failed: RemitError | None = None
        async with aclosing(opened.ask(request, self.settings, self.timeout)) as pieces:
            async for piece in pieces:
                if isinstance(piece, RemitError):
                    failed = piece
                else:
                    yield piece
        if failed is not None:
            raise failed


def _open(model: Any) -> Any:
    sdk("pydantic_ai", "bridge", "the bridge to other makers")
    from remit.models.bridge.asking import Opened

    return Opened.of(model)


def _check(bridge: Bridge) -> None:
    check_asking(bridge, "settings")
    model = bridge.model
    if isinstance(model, str):
        if not model.strip():
            raise ConfigError("Bridge needs a model: a name like 'groq:…', or an object")
    elif not all(hasattr(model, member) for member in _MEMBERS):
        raise ConfigError(f"Bridge takes a name or a Model of pydantic-ai, not {model!r}")
    taken = sorted(set(bridge.settings) & set(_OURS))
    if taken:
        raise ConfigError(f"Bridge.settings cannot hold {', '.join(taken)}: remit sets it")
