"""A model behind Anthropic's Messages."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from remit.models.anthropic.body import LEAST_THINKING, Wishes, build
from remit.models.anthropic.clients import asking, clients
from remit.models.anthropic.failures import failure
from remit.models.anthropic.pieces import Reader
from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest
from remit.models.wire.clients import Clients
from remit.models.wire.costing import costing
from remit.models.wire.exchange import Exchange, no_answer
from remit.models.wire.listening import listen, most_bytes
from remit.models.wire.options import check_server
from remit.values.errors import ConfigError, ConnectionFailedError

_OURS = ("cache_control", "max_tokens", "messages", "model", "stream", "system", "tools")
_PROVIDERS = ("container", "mcp_servers")
"""Fields that have Anthropic run tools of its own."""
_GONE = ("temperature", "top_k", "top_p")


@dataclass(frozen=True, kw_only=True, eq=False)
class AnthropicMessages:
    """A model that is asked through the official `anthropic` package (`pip install
    '.[anthropic]'`), in version 2026-10-21 of its interface.

    `model` is its name on the server, `provider:model` its name in records,
    and `provider` with the host of a `base_url` its maker. The key is `api_key`,
    else ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, which are read at the first call; a server with
    a `base_url` may need none. `client` is an `anthropic.AsyncAnthropic` of the caller's own, or
    one of its kind for Google Cloud, Foundry or Bedrock (Mantle); it is used without retries, and
    the caller closes it.

    `thinking` is "adaptive", a budget in tokens, or "off"; None leaves it to the model. With
    `output="schema"` an answer that must have a form is held to it by structured outputs where
    these know its schema; else, and with "tool", it is asked for by a final tool. None is "schema",
    and "tool" with a `base_url`. `cache` is how long the prompt is kept for the next call; None
    marks nothing. `timeout` is how many seconds may pass without a piece of the answer; signs of
    life count for nothing. `options` are further fields of the request, like
    `{"output_config": {"effort": "high"}}`.

    Raises ConfigError for options that contradict each other.
    """

    model: str = field(kw_only=False)
    provider: str = "anthropic"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    client: Any | None = field(default=None, repr=False)
    card: Card = field(default_factory=Card)
    thinking: int | Literal["adaptive", "off"] | None = None
    output: Literal["schema", "tool"] | None = None
    cache: Literal["5m", "1h"] | None = "5m"
    timeout: float = 300.0
    options: Mapping[str, Any] = field(default_factory=dict)
    _clients: Clients = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_server(self)
        _check_wishes(self)
        _check_options(self.options)
        object.__setattr__(self, "model", self.model.removeprefix(f"{self.provider}:"))
        made = clients(self.client, self.base_url, self.api_key, self.timeout)
        object.__setattr__(self, "_clients", made)

    @property
    def name(self) -> str:
        """`provider:model`, as it stands in records."""
        return f"{self.provider}:{self.model}"

    async def prepare(self) -> None:
        """Load the package and read the key now, and not at the first call.

        Raises ConfigError where one is missing.
        """
        await self._clients.open()

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, as they come.

        Raises ConfigError before the call where the package or a key is missing, ProviderError
        for what the server refuses or reports, ConnectionFailedError for a server that cannot
        be reached, falls silent or is cut off. Both say whether tokens may have been charged.
        """
        client, most = await self._clients.open(), most_bytes(request.max_output)
        asked = self.body(request)
        reader = Reader(asked)
        async with asking(client, asked, self.timeout) as source:
            ended = False
            while not ended:
                chunks, ended = await listen(source, reader, self.timeout, most)
                for chunk in chunks:
                    yield chunk
            _check_whole(source, reader)
            for chunk in reader.close():
                yield chunk
            if reader.stopped:
                await source.drain()

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of the HTTP request that asks `request`."""
        # A server that does not know of schemas passes over them, and the answer would be any text.
        output = self.output or ("tool" if self.base_url else "schema")
        wishes = Wishes(self.thinking, output, self.cache, self.options)
        return build(request, model=self.model, maker=self.name, wishes=wishes)


def _check_whole(source: Exchange, reader: Reader) -> None:
    """Raise unless the answer came to its end."""
    if source.refusal is not None or reader.error is not None:
        raise failure(source, reader.error)
    if reader.finish is not None or (reader.stopped and reader.moved):
        return
    if source.any and not reader.moved:
        raise no_answer(source, "Anthropic's Messages")
    raise ConnectionFailedError(reason="the answer was cut off before its end")


def _check_server(model: AnthropicMessages) -> None:
    check_server(model)
    name, client, url = model.model, model.client, model.base_url
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"AnthropicMessages needs the model's name, not {name!r}")
    if client is not None and (url or model.api_key):
        raise ConfigError(
            "AnthropicMessages: base_url= and api_key= belong to the client that is given"
        )
    if client is not None and not _is_async_client(client):
        raise ConfigError(
            f"AnthropicMessages.client must be an anthropic.AsyncAnthropic, not {client!r}"
        )


def _check_wishes(model: AnthropicMessages) -> None:
    thinking = model.thinking
    budget = type(thinking) is int and thinking >= LEAST_THINKING
    if not budget and thinking not in (None, "adaptive", "off"):
        raise ConfigError(
            'AnthropicMessages.thinking must be "adaptive", "off" or a budget of at least'
            f" {LEAST_THINKING:,} tokens, not {thinking!r}"
        )
    if thinking is not None and "thinking" in model.options:
        raise ConfigError("AnthropicMessages: give thinking= or options' thinking, not both")
    if model.output not in (None, "schema", "tool"):
        raise ConfigError(
            f'AnthropicMessages.output must be "schema", "tool" or None, not {model.output!r}'
        )
    if model.cache not in (None, "5m", "1h"):
        raise ConfigError(
            f'AnthropicMessages.cache must be "5m", "1h" or None, not {model.cache!r}'
        )


def _check_options(options: Mapping[str, Any]) -> None:
    taken = sorted(set(options) & set(_OURS))
    if taken:
        raise ConfigError(
            f"AnthropicMessages.options cannot hold {', '.join(taken)}: remit sets it"
        )
    gone = sorted(set(options) & set(_GONE))
    if gone:
        raise ConfigError(
            f"AnthropicMessages.options cannot hold {', '.join(gone)}: Anthropic takes it no"
            " more since version 2026-10-21"
        )
    theirs = sorted(set(options) & set(_PROVIDERS))
    if theirs:
        raise ConfigError(
            f"AnthropicMessages.options cannot hold {', '.join(theirs)}: what Anthropic runs"
            " itself no grant, approval, budget or journal reaches; write a tool that does it"
        )


def _is_async_client(client: object) -> bool:
    return hasattr(client, "with_options") and inspect.iscoroutinefunction(
        getattr(client, "close", None)
    )
