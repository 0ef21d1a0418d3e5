"""A model behind Anthropic's Messages."""

from __future__ import annotations

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
from remit.models.wire.exchange import Exchange
from remit.models.wire.listening import check_end, listen, most_bytes
from remit.models.wire.served import Served, check_asked, check_taken
from remit.values.errors import ConfigError

_TAKEN = {
    ("cache_control", "max_tokens", "messages", "model", "stream", "system", "tools"): (
        "remit sets it"
    ),
    ("temperature", "top_k", "top_p"): "Anthropic takes it no more since version 2026-10-21",
    ("container", "mcp_servers"): "what Anthropic runs itself no grant, approval, budget or"
    " journal reaches; write a tool that does it",
}
"""Fields that `options` cannot hold, and why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AnthropicMessages(Served):
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
        check_asked(self, "anthropic.AsyncAnthropic")
        _check_wishes(self)
        for names, why in _TAKEN.items():
            check_taken(self, self.options, names, why)
        self._begin(clients(self.client, self.base_url, self.api_key, self.timeout))

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
    check_end(source, "Anthropic's Messages", begun=bool(reader.moved))


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
