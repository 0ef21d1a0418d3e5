"""A model behind Google's Gemini interface."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.models.google.body import CONFIG, build
from remit.models.google.clients import asking, clients
from remit.models.google.pieces import Reader
from remit.models.google.thinking import Thinking
from remit.models.google.trouble import told
from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest
from remit.models.wire.clients import Clients
from remit.models.wire.costing import costing
from remit.models.wire.exchange import Exchange
from remit.models.wire.listening import check_end, listen, most_bytes
from remit.models.wire.options import check_server
from remit.models.wire.served import Served, check_client
from remit.values.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*(/[A-Za-z0-9][A-Za-z0-9._@-]*)*")
_VERSION = re.compile(r"/v[1-9][a-z0-9]*/*$")
_OURS = ("contents", "systemInstruction", "tools", "toolConfig")
_OURS_WITHIN = ("maxOutputTokens", "candidateCount", "responseJsonSchema", "responseSchema")


@dataclass(frozen=True, kw_only=True, eq=False)
class GoogleGemini(Served):
    """A model that is asked through the official `google-genai` package
    (`pip install '.[google]'`).

    `model` is its name at Google, `provider:model` its name in records,
    and `provider` with the host of a `base_url` its maker. With a `base_url`, which
    ends before the interface's version, another server of the interface is asked. The key is
    `api_key`, else GOOGLE_API_KEY or GEMINI_API_KEY, read at the first call; a server with a
    `base_url` may need none. `client` is a `google.genai.Client` of the caller's own, for Vertex
    AI, proxies and certificates; it is used without retries, and the caller closes it.

    `thinking` says how much it thinks, if not as much as it likes. `timeout` is how many seconds
    may pass without a piece of the answer. `options` are further fields of the request, like
    `{"generationConfig": {"temperature": 0}}`.

    Raises ConfigError for options that contradict each other.
    """

    model: str = field(kw_only=False)
    provider: str = "google"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    client: Any | None = field(default=None, repr=False)
    card: Card = field(default_factory=Card)
    thinking: Thinking | None = None
    timeout: float = 300.0
    options: Mapping[str, Any] = field(default_factory=dict)
    _clients: Clients = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self)
        self._begin(clients(self.client, self.base_url, self.api_key, self.timeout))

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, as they come.

        Raises ConfigError before the call where the package or a key is missing, ProviderError
        for what Gemini refuses or reports, ConnectionFailedError for a server that cannot be
        reached, falls silent or is cut off. Both say whether tokens may have been charged.
        """
        client, most = await self._clients.open(), most_bytes(request.max_output)
        asked = self.body(request)
        reader = Reader((tool.name for tool in request.tools), asked)
        async with asking(client, self.model, asked, self.timeout) as source:
            ended = False
            while not ended:
                chunks, ended = await listen(source, reader, self.timeout, most)
                for chunk in chunks:
                    yield chunk
            _check_whole(source, reader)
            for chunk in reader.close():
                yield chunk

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of the HTTP request that asks `request`."""
        return build(
            request,
            maker=self.name,
            card=self.card,
            thinking=self.thinking,
            options=self.options,
        )


def _check_whole(source: Exchange, reader: Reader) -> None:
    """Raise unless the answer came to its end."""
    failure = reader.failure
    if failure is not None:
        status = source.refusal.status if source.refusal else 200
        raise told(failure, status=status, headers=source.headers, secret=source.secret)
    if reader.finish is not None:
        return
    check_end(source, "Gemini's", begun=reader.begun)


def _check(model: GoogleGemini) -> None:
    check_server(model)
    name = model.model.removeprefix(f"{model.provider}:") if isinstance(model.model, str) else ""
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"GoogleGemini needs a model's name at Google, not {model.model!r}")
    check_client(model)
    if model.client is not None and not hasattr(model.client, "_api_client"):
        raise ConfigError(
            f"GoogleGemini.client must be a google.genai.Client, not {model.client!r}"
        )
    if model.base_url is not None and _VERSION.search(model.base_url):
        raise ConfigError(
            f"base_url must end before the interface's version, which the package puts behind it:"
            f" {_VERSION.sub('', model.base_url)!r}, not {model.base_url!r}"
        )
    if model.thinking is not None and not isinstance(model.thinking, Thinking):
        raise ConfigError(f"GoogleGemini.thinking must be a Thinking, not {model.thinking!r}")
    _check_options(model.options)


def _check_options(options: Mapping[str, Any]) -> None:
    config = options.get(CONFIG) or {}
    if not isinstance(config, Mapping):
        raise ConfigError(f"GoogleGemini.options: {CONFIG} must be a mapping, not {config!r}")
    taken = sorted(set(options) & set(_OURS)) + sorted(set(config) & set(_OURS_WITHIN))
    if taken:
        raise ConfigError(f"GoogleGemini.options cannot hold {', '.join(taken)}: remit sets it")
    if "thinkingConfig" in config:
        raise ConfigError("GoogleGemini.options cannot hold thinkingConfig: give thinking=Thinking")
