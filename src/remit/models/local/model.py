"""A model that a GGUF file holds, run by llama.cpp in this process."""

from __future__ import annotations

import asyncio
import secrets
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from remit.models.local.engine import Answer, Engine
from remit.models.openai_chat import reply
from remit.models.openai_chat.dialect import Dialect
from remit.models.openai_chat.pieces import Reader
from remit.models.pricing import Pricing
from remit.models.protocol import Card
from remit.models.request import Chunk, ModelRequest
from remit.models.wire.clients import sdk
from remit.models.wire.costing import costing
from remit.models.wire.failures import provider_error
from remit.models.wire.options import check_asking
from remit.values.errors import ConfigError, ConnectionFailedError

_WINDOW = 8_192
_FREE = Pricing(input=0, output=0)
_KEPT_PROMPTS_MIB = 256
_MAGIC, _POINTER = b"GGUF", b"version https://git-lfs"
_OURS = ("model", "messages", "stream", "response_format", "n")


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalModel:
    """A model in this process, without a key and without a network (`pip install '.[local]'`).

    `path` is a GGUF file; `local:` and the file's name stand in records. Nothing is loaded before
    the first request or `prepare`, and then once; `close`, or the end of the process, lets go of
    it. Each reply is held by a grammar to be a call that fits its tool's schema, or an answer.

    Its card's `window` is how much of a conversation it keeps in memory, 8,192 tokens unless told;
    without declared rates it costs nothing. `parallel` is how many requests it works on at once,
    which share the memory, and `threads` how many threads of the processor one takes, as many as
    llama.cpp sees fit unless told. `timeout` is how many seconds may pass without a piece of the
    answer. `options` are further fields of the request, like `{"temperature": 0}`. `configure`
    gets llama.cpp's own parameters (`xllamacpp.CommonParams`), to change what else there is.
    """

    path: str | PathLike[str]
    card: Card = field(default_factory=Card)
    threads: int | None = None
    parallel: int = 1
    timeout: float = 300.0
    options: Mapping[str, Any] = field(default_factory=dict)
    configure: Callable[[Any], None] | None = None
    _engine: Engine = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self)
        card = self.card
        pricing, window = card.pricing or _FREE, card.window or _WINDOW
        object.__setattr__(self, "card", replace(card, pricing=pricing, window=window))
        # The engine must not hold on to the model, whose end is the engine's.
        load = _Load(self.file, window, self.threads, self.parallel, self.configure)
        engine = Engine(load, self.parallel)
        object.__setattr__(self, "_engine", engine)
        weakref.finalize(self, engine.close, wait=False)

    @property
    def name(self) -> str:
        """`local:` and the file's name, as it stands in records."""
        return f"local:{self.file.stem}"

    @property
    def file(self) -> Path:
        """Where the file is."""
        return Path(self.path).expanduser()

    async def prepare(self) -> None:
        """Load the model now, and not at the first request. Raises ConfigError where the package
        or the file is missing, and for a file that llama.cpp cannot load."""
        await self._engine.open()

    def close(self) -> None:
        """Stop what is under way, wait until it has, and let go of the model's memory. The next
        request loads it anew."""
        self._engine.close()

    @costing
    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The answer's pieces, as they come.

        Raises ConfigError where the model cannot be loaded, ProviderError for a request that
        llama.cpp refuses, such as one that is longer than the window, and ConnectionFailedError
        for an answer that does not go on.
        """
        asked = self.body(request)
        reader = Reader((tool.name for tool in request.tools), asked)
        held = reply.Held() if request.tools else None
        async with self._engine.ask(asked) as answer:
            await answer.begun()
            while (piece := await _next(answer, self.timeout)) is not None:
                chunks = reader.take(piece)
                if reader.error is not None:
                    raise provider_error(reader.error, status=200, headers={}, secret=None)
                for chunk in held.keep(chunks) if held else chunks:
                    yield chunk
        if reader.finish is None:
            raise ConnectionFailedError(reason="the local model stopped before its answer's end")
        for chunk in held.tell(reader, request) if held else reader.close():
            yield chunk

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """What llama.cpp is asked."""
        return reply.build(
            request,
            model=self.name,
            maker=self.name,
            dialect=Dialect(),
            options=self.options,
        )


@dataclass(frozen=True, slots=True)
class _Load:
    """Loads the model. Raises ConfigError, with the mend."""

    file: Path
    window: int
    threads: int | None
    parallel: int
    configure: Callable[[Any], None] | None

    def __call__(self) -> Any:
        check_file(self.file)
        llama = sdk("xllamacpp", "local", "a GGUF file")
        given = llama.CommonParams()
        given.model.path, given.model_alias = str(self.file), {self.file.stem}
        given.n_ctx, given.n_parallel = self.window * self.parallel, self.parallel
        given.cache_ram_mib = _KEPT_PROMPTS_MIB
        given.verbosity, given.ui, given.offline = 0, False, True
        given.endpoint_slots = given.endpoint_props = False
        # It listens on loopback whether it is asked there or not: to nobody without this key.
        given.api_keys = [secrets.token_urlsafe()]
        if self.threads is not None:
            given.cpuparams.n_threads = given.cpuparams_batch.n_threads = self.threads
        if self.configure is not None:
            self.configure(given)
        try:
            return llama.Server(given)
        except RuntimeError as error:
            raise ConfigError(
                f"llama.cpp cannot load {self.file} ({error}): the file may be cut off, of a kind"
                " that this version does not know, or too large for the memory; try it whole, a"
                " newer xllamacpp, a smaller one, or a smaller Card(window=…)"
            ) from None


def check_file(file: Path) -> None:
    """Raise ConfigError, with the mend, unless `file` is a GGUF file."""
    try:
        with file.open("rb") as opened:
            begins = opened.read(len(_POINTER))
    except OSError as error:
        raise ConfigError(
            f"the model file {file} cannot be read ({error.strerror}): give LocalModel(path=…) the"
            " path of a GGUF file that you have downloaded"
        ) from None
    if begins == _POINTER:
        raise ConfigError(f"{file} only points at the model: fetch it with git lfs pull")
    if not begins.startswith(_MAGIC):
        raise ConfigError(
            f"{file} is no GGUF file: llama.cpp reads no other; download the model as GGUF, or"
            " convert it"
        )


async def _next(answer: Answer, seconds: float) -> object:
    try:
        async with asyncio.timeout(seconds):
            return await answer.next()
    except TimeoutError:
        silent = ConnectionFailedError(reason=f"nothing came for {seconds:g} seconds")
    raise silent


def _check(model: LocalModel) -> None:
    check_asking(model)
    path = str(model.path) if isinstance(model.path, str | PathLike) else ""
    if not path.strip() or "\0" in path:
        raise ConfigError(f"LocalModel needs the path of a GGUF file, not {model.path!r}")
    for name in ("threads", "parallel"):
        count = getattr(model, name)
        if not (type(count) is int and count > 0) and (count, name) != (None, "threads"):
            raise ConfigError(f"LocalModel.{name} must be at least 1, not {count!r}")
    taken = sorted(set(model.options) & set(_OURS))
    if taken:
        raise ConfigError(f"LocalModel.options cannot hold {', '.join(taken)}: remit sets it")
