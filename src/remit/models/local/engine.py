"""llama.cpp in this process: loaded when it is first needed, asked on threads of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from remit.values.errors import ConnectionFailedError, ProviderError, RemitError

_BEGUN = object()
_CLOSED = "the local model was closed"


class Engine:
    """Holds what `load` gives, a `xllamacpp.Server`, from the first request until `close`.

    At most `parallel` requests are worked on; the others wait for their turn.
    """

    def __init__(self, load: Callable[[], Any], parallel: int) -> None:
        self._load = load
        self._parallel = parallel
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._closes = 0
        self._server: Any = None
        self._threads: ThreadPoolExecutor | None = None
        self._answers: set[Answer] = set()

    async def open(self) -> None:
        """Load the model, once. Raises what `load` raises."""
        if self._server is None:
            # Loading takes seconds, in which other runs go on.
            await asyncio.to_thread(self._start)

    @asynccontextmanager
    async def ask(self, body: Mapping[str, Any]) -> AsyncIterator[Answer]:
        """Send `body` to chat completions; leaving stops the answer at its next token."""
        await self.open()
        answer = Answer(asyncio.get_running_loop())
        with self._lock:
            if self._threads is None:
                raise ConnectionFailedError(reason=_CLOSED)
            self._answers.add(answer)
            work = self._threads.submit(answer.work, self._server.handle_chat_completions, body)
        try:
            yield answer
        finally:
            answer.stopped = True
            work.cancel()
            self._answers.discard(answer)

    def close(self, *, wait: bool = True) -> None:
        """Stop what is under way and let go of the model's memory; the next request loads it
        anew. With `wait` all of it has stopped when this returns."""
        with self._lock:
            threads, self._threads, self._server = self._threads, None, None
            answers = list(self._answers)
            self._closes += 1
        for answer in answers:
            answer.end(ConnectionFailedError(reason=_CLOSED))
        if threads is not None:
            threads.shutdown(wait=wait, cancel_futures=True)
        if wait:
            with self._loading:
                pass  # what is loaded while this is called is let go of

    def _start(self) -> None:
        # Who closes does not wait until it is loaded.
        with self._loading:
            if self._server is not None:
                return
            closes = self._closes
            server = self._load()
            with self._lock:
                if closes != self._closes:
                    raise ConnectionFailedError(reason=_CLOSED)
                self._server = server
                self._threads = ThreadPoolExecutor(self._parallel, "remit-local")


class Answer:
    """An answer as it comes from a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stopped = False
        """Whether nobody waits for the rest."""
        self._loop = loop
        self._come: asyncio.Queue[Any] = asyncio.Queue()

    async def begun(self) -> None:
        """Wait for its turn. Raises ConnectionFailedError where it never comes."""
        await self.next()

    async def next(self) -> object:
        """The next chunk; None at the end. Raises ProviderError for a request that is refused, and
        ConnectionFailedError for an answer that was stopped."""
        found = await self._come.get()
        if isinstance(found, RemitError):
            raise found
        return found

    def end(self, why: RemitError) -> None:
        """Stop it, and have whoever waits told `why`."""
        self._tell(why)
        self.stopped = True

    def work(self, ask: Callable[..., object], body: Mapping[str, Any]) -> None:
        """Have the answer made; runs on a thread."""
        self._tell(_BEGUN)
        try:
            ask(body, self._take)
        except ValueError as error:
            self._tell(ProviderError(status=400, message=str(error)))
        except Exception as error:  # whatever llama.cpp fails of, the request has failed
            self._tell(ProviderError(status=500, message=str(error)))
        else:
            self._tell(None)

    def _take(self, chunk: object) -> bool:
        """Hand on a chunk; whether the model is to stop."""
        self._tell(chunk)
        return self.stopped

    def _tell(self, news: object) -> None:
        if self.stopped:
            return
        try:
            self._loop.call_soon_threadsafe(self._come.put_nowait, news)
        except RuntimeError:  # the loop is closed, and nobody waits any more
            self.stopped = True
