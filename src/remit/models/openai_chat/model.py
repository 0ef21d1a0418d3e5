"""A model behind Chat Completions: OpenAI's, or any compatible server's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from remit.models.openai_chat import body, reply
from remit.models.openai_chat.clients import asking, clients
from remit.models.openai_chat.dialect import Dialect
from remit.models.openai_chat.pieces import Reader
from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest
from remit.models.structured import by_schema
from remit.models.wire.clients import Clients
from remit.models.wire.costing import costing
from remit.models.wire.exchange import Exchange
from remit.models.wire.failures import provider_error
from remit.models.wire.listening import check_end, listen, most_bytes
from remit.models.wire.served import Served, check_asked, check_taken
from remit.values.errors import ConfigError

_OURS = ("model", "messages", "stream", "tools", "n")
_PROVIDERS = ("web_search_options", "plugins")
"""Fields that have a server run tools of its own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenAIChat(Served):
    """A model that is asked through the official `openai` package (`pip install '.[openai]'`).

    `model` is its name on the server, `provider:model` its name in records,
    and `provider` with the host of a `base_url` its maker. With a `base_url`
    any compatible server is asked. The key is `api_key`, else OPENAI_API_KEY, which is read at
    the first call; a server with a `base_url` may need none. `client` is an
    `openai.AsyncOpenAI` of the caller's own, for Azure, proxies and certificates; it is used
    without retries, and the caller closes it.

    `tools="json"` serves servers without tool calling: tools are described in the instructions
    and each reply is one JSON object, a call or an answer. `timeout` is how many seconds may
    pass without a piece of the answer; signs of life count for nothing. `options` are further
    fields of the request, like `{"temperature": 0}`.

    Raises ConfigError for options that contradict each other.
    """

    model: str = field(kw_only=False)
    provider: str = "openai"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    client: Any | None = field(default=None, repr=False)
    card: Card = field(default_factory=Card)
    tools: Literal["native", "json"] = "native"
    timeout: float = 300.0
    dialect: Dialect = field(default_factory=Dialect)
    options: Mapping[str, Any] = field(default_factory=dict)
    _clients: Clients = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self)
        self._begin(clients(self.client, self.base_url, self.api_key, self.timeout))

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, as they come.

        Raises ConfigError before the call where the package or a key is missing, ProviderError
        for what the server refuses or reports, ConnectionFailedError for a server that cannot
        be reached, falls silent or is cut off.
        """
        client, most = await self._clients.open(), most_bytes(request.max_output)
        asked = self.body(request)
        reader = Reader((tool.name for tool in request.tools), asked)
        held = reply.Held() if self.tools == "json" and request.tools else None
        async with asking(client, asked, self.timeout) as source:
            ended = False
            while not ended:
                chunks, ended = await listen(source, reader, self.timeout, most)
                for chunk in held.keep(chunks) if held else chunks:
                    yield chunk
            _check_whole(source, reader)
            for chunk in held.tell(reader, request) if held else reader.close():
                yield chunk
            if source.done:
                await source.drain()

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of the HTTP request that asks `request`."""
        options = self.options
        if self.tools == "json":
            build = reply.build
        else:
            build = body.build
            if "response_format" not in options:
                request, schema = by_schema(self.card, request)
                options = options if schema is None else {**options, **body.answers(schema)}
        return build(
            request, model=self.model, maker=self.name, dialect=self.dialect, options=options
        )


def _check_whole(source: Exchange, reader: Reader) -> None:
    """Raise unless the answer came to its end."""
    if reader.error is not None:
        status = source.refusal.status if source.refusal else 200
        raise provider_error(
            reader.error, status=status, headers=source.headers, secret=source.secret
        )
    if reader.finish is not None or (source.done and reader.moved):
        return
    check_end(source, "a chat model", begun=bool(reader.moved))


def _check(model: OpenAIChat) -> None:
    check_asked(model, "openai.AsyncOpenAI")
    if not isinstance(model.dialect, Dialect):
        raise ConfigError(f"OpenAIChat.dialect must be a Dialect, not {model.dialect!r:.80}")
    if model.tools not in ("native", "json"):
        raise ConfigError(f'OpenAIChat.tools must be "native" or "json", not {model.tools!r}')
    check_taken(model, model.options, _OURS, "remit sets it")
    check_taken(
        model,
        model.options,
        _PROVIDERS,
        "what the server runs itself no grant, approval, budget or journal reaches; write a tool"
        " that does it",
    )
