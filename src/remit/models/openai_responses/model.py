"""A model behind OpenAI's Responses, or another server that speaks them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from remit.models.openai_chat.clients import clients
from remit.models.openai_responses import body
from remit.models.openai_responses.asking import asking
from remit.models.openai_responses.reading import Reader
from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest
from remit.models.wire.clients import Clients
from remit.models.wire.costing import costing
from remit.models.wire.exchange import Exchange
from remit.models.wire.failures import provider_error
from remit.models.wire.listening import check_end, listen, most_bytes
from remit.models.wire.served import Served, check_asked, check_taken
from remit.values.errors import ConfigError

_OURS = ("model", "input", "instructions", "stream", "tools", "tool_choice", "max_output_tokens")
_STORED = ("store", "include", "previous_response_id", "conversation", "background")
"""Fields that leave the conversation with the server."""
_THEIRS = ("prompt", "context_management", "max_tool_calls")
"""Fields that have a server bring along tools and words of its own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenAIResponses(Served):
    """A model that is asked through the official `openai` package (`pip install '.[openai]'`).

    `model` is its name on the server, `provider:model` its name in records,
    and `provider` with the host of a `base_url` its maker. With a `base_url`
    another server is asked that speaks Responses. The key is `api_key`, else OPENAI_API_KEY,
    which is read at the first call; a server with a `base_url` may need none. `client` is an
    `openai.AsyncOpenAI` of the caller's own, for Azure, proxies and certificates; it is used
    without retries, and the caller closes it.

    Nothing is stored on the server: what it keeps of its reasoning comes encrypted, and goes back
    to it as it came. `reasons=False` is for models that do not reason, some of which refuse to be
    asked for that. `effort` and `summary` are those of its reasoning, in the server's words.
    With `output="schema"` an answer that must have a form is held to it by the server where strict
    mode knows its schema; else, and with "tool", it is asked for by a final tool. None is "schema",
    and "tool" with a `base_url` whose card is not `structured`. `item_ids=False` is for servers
    that look for whatever has an id, and find nothing.

    `timeout` is how many seconds may pass without a piece of the answer; signs of life count for
    nothing. `options` are further fields of the request, like `{"service_tier": "flex"}`.

    Raises ConfigError for options that contradict each other.
    """

    model: str = field(kw_only=False)
    provider: str = "openai-responses"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    client: Any | None = field(default=None, repr=False)
    card: Card = field(default_factory=Card)
    reasons: bool = True
    effort: str | None = None
    summary: str | None = None
    output: Literal["schema", "tool"] | None = None
    item_ids: bool = True
    timeout: float = 300.0
    options: Mapping[str, Any] = field(default_factory=dict)
    _clients: Clients = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self)
        self._begin(
            clients(self.client, self.base_url, self.api_key, self.timeout, "OpenAIResponses")
        )

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, as they come.

        Raises ConfigError before the call where the package or a key is missing, ProviderError
        for what the server refuses or reports, ConnectionFailedError for a server that cannot
        be reached, falls silent or is cut off. Both say whether tokens may have been charged.
        """
        client, most = await self._clients.open(), most_bytes(request.max_output)
        asked = self.body(request)
        reader = Reader((tool.name for tool in request.tools), asked)
        async with asking(client, asked, self.timeout) as source:
            ended = False
            while not ended:
                chunks, ended = await listen(source, reader, self.timeout, most)
                for chunk in chunks:
                    yield chunk
            _check_whole(source, reader)
            for chunk in reader.close():
                yield chunk
            await source.drain()

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of the HTTP request that asks `request`."""
        # A server that does not know of schemas passes over them, and the answer would be any text.
        unknown = self.base_url is not None and not self.card.structured
        output = self.output or ("tool" if unknown else "schema")
        thinking = {"effort": self.effort, "summary": self.summary}
        told = {name: value for name, value in thinking.items() if value is not None}
        wishes = body.Wishes(
            reasons=self.reasons,
            ids=self.item_ids,
            formed=output == "schema",
            options={**({"reasoning": told} if told else {}), **self.options},
        )
        return body.build(request, model=self.model, maker=self.name, wishes=wishes)


def _check_whole(source: Exchange, reader: Reader) -> None:
    """Raise unless the answer came to its end."""
    if reader.error is not None:
        status = source.refusal.status if source.refusal else 200
        raise provider_error(
            reader.error, status=status, headers=source.headers, secret=source.secret
        )
    if reader.finish is not None:
        return
    check_end(source, "a model", begun=reader.begun)


def _check(model: OpenAIResponses) -> None:
    ours = "OpenAIResponses"
    check_asked(model, "openai.AsyncOpenAI")
    for option in ("effort", "summary"):
        word = getattr(model, option)
        if word is not None and not isinstance(word, str):
            raise ConfigError(f"{ours}.{option} must be a word, like 'low', not {word!r:.80}")
    if model.output not in (None, "schema", "tool"):
        raise ConfigError(f'{ours}.output must be "schema", "tool" or None, not {model.output!r}')
    if not model.reasons and (model.effort or model.summary):
        raise ConfigError(f"{ours}: effort= and summary= are of models that reason")
    if (model.effort or model.summary) and "reasoning" in model.options:
        raise ConfigError(f"{ours}: give effort= and summary=, or reasoning in options=")
    _check_options(model)


def _check_options(model: OpenAIResponses) -> None:
    reasons = (
        (_OURS, "remit sets it"),
        (_STORED, "nothing is kept on the server, and the whole conversation is sent each time"),
        (
            _THEIRS,
            "what the server brings along or runs itself no grant, approval, budget or journal"
            " reaches",
        ),
    )
    for names, why in reasons:
        check_taken(model, model.options, names, why)
    text = model.options.get("text", {})
    if not isinstance(text, Mapping) or "format" in text:
        raise ConfigError("OpenAIResponses.options: the form of an answer is Agent(output=…)")
