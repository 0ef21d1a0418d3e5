"""The run, as a workflow's function sees it."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar, overload
from uuid import UUID, uuid4

import msgspec

from remit.flow.make import Making
from remit.flow.shape import MisfitError, Shape, digest, shape_of
from remit.kernel.facts import Stepped
from remit.kernel.gather import gather
from remit.kernel.nested import Engagement, drive_inside
from remit.kernel.scope import Scope
from remit.kernel.script import Item
from remit.tools.abandoned import Abandoned
from remit.values.errors import ConfigError, StepFailedError
from remit.values.moment import microseconds

T = TypeVar("T")
Engage = Callable[[Any, Any, str | None], Engagement]
"""Gives an agent (or the one of that name) its message; with a recorded `name@version`, in that
version. Raises ConfigError for what no agent here can be asked."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_STEP_NAME = re.compile(r"[^/#:]{1,100}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Kit:
    """What the runs of one program share: what they left running, and who brings agents."""

    abandoned: Abandoned
    engage: Engage | None = None


class WorkflowRun:
    """A durable run: what is done through it is done once, however often its function is called.

    Between its steps the function must do the same each time: clocks, chance and the world are
    asked through `step`, `now`, `uuid` and `random`. Each method raises ConfigError where another
    task calls it, or a step's own function: for work side by side there is `gather`.
    """

    __slots__ = ("_kit", "_scope")

    def __init__(self, scope: Scope, kit: Kit) -> None:
        self._scope = scope
        self._kit = kit

    @property
    def id(self) -> str:
        """The run's id."""
        return self._scope.course.run.id

    @property
    def user(self) -> str | None:
        """For whom it runs."""
        return self._scope.course.run.asked.user

    @property
    def tenant(self) -> str | None:
        """The tenant of that user."""
        return self._scope.course.run.asked.tenant

    @property
    def thread(self) -> str | None:
        """The thread that it was started on."""
        return self._scope.course.run.asked.thread

    @overload
    async def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *args: Any,
        returns: type[T],
        timeout: float | timedelta | None = None,  # noqa: ASYNC109  # bounds a record, not this
    ) -> T: ...

    @overload
    async def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *args: Any,
        returns: Any = None,
        timeout: float | timedelta | None = None,  # noqa: ASYNC109
    ) -> Any: ...

    async def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *args: Any,
        returns: Any = None,
        timeout: float | timedelta | None = None,  # noqa: ASYNC109
    ) -> Any:
        """What `fn(*args)` gave: called once, async or on a thread, and then recorded.

        `returns` is a type that Pydantic can check; without it the value must be plain JSON data.
        Raises StepFailedError where `fn` raised, took longer than `timeout` seconds, or gave a
        value that cannot be kept; that is recorded as well, and raised again on replay.
        """
        what = f"step {name!r:.80}"
        if not isinstance(name, str) or not name.isprintable() or not _STEP_NAME.fullmatch(name):
            raise ConfigError(f"{what}: a name is 1 to 100 printable characters without / # and :")
        if not callable(fn):
            _close(fn)
            raise ConfigError(f"{what}: give the function and its arguments, not {fn!r:.80}")
        shape = shape_of(returns, f"{what}: returns")
        making = Making(name, fn, args, shape, _seconds(timeout, what))
        run, scope = self._scope.course.run, self._scope
        fact = await scope.step(
            name, digest(args), partial(making.make, run, self._kit.abandoned), making.longest
        )
        if fact.error is not None:
            raise StepFailedError(step=fact.name, error=fact.error) from making.raised
        return self._loaded(fact, shape)

    @overload
    async def ask(self, question: str, returns: type[T]) -> T: ...

    @overload
    async def ask(self, question: str, returns: Any = None) -> Any: ...

    async def ask(self, question: str, returns: Any = None) -> Any:
        """Somebody's answer to `question`, given by `app.answer`; the run is paused until then.

        Raises StepFailedError for an answer that fits the JSON Schema of `returns`, by which it
        was checked when it was given, and yet not `returns` itself: ask again.
        """
        if not isinstance(question, str) or not question.strip():
            raise ConfigError(f"a question is text for a person, not {question!r:.80}")
        shape = shape_of(returns, f"the answer to {question!r:.80}")
        asked, answered = await self._scope.ask(question, shape.schema)
        try:
            return shape.load(answered.value)
        except MisfitError as misfit:
            if shape.schema() != asked.schema:
                item = Item(asked.id, self._scope.course.script.at(asked.id))
                driven = f"{asked.id} with another type of answer: {misfit}"
                raise self._scope.course.differ(item, driven) from misfit
            raise StepFailedError(step=asked.id, error=f"the answer: {misfit}") from misfit

    @overload
    async def receive(self, returns: type[T]) -> T: ...

    @overload
    async def receive(self, returns: Any = None) -> Any: ...

    async def receive(self, returns: Any = None) -> Any:
        """The next message that somebody sent by `app.send`, each once and in their order; the
        run is paused until one comes.

        Raises StepFailedError for one that does not fit `returns`; it counts as received.
        """
        shape = shape_of(returns, "the message to receive")

        def check(value: Any) -> str | None:
            try:
                shape.load(value)
            except MisfitError as misfit:
                return str(misfit)
            return None

        fact, message = await self._scope.receive(check)
        if fact.error is not None:
            raise StepFailedError(step=fact.name, error=f"the message: {fact.error}")
        return self._loaded(fact, shape, message.value)

    async def sleep(self, duration: float | timedelta) -> None:
        """Wait for `duration`, in seconds if it is a number. Its end is recorded: crashes and
        pauses make it no longer, and no process is held meanwhile."""
        seconds = _seconds(duration, "the time to sleep", least=0.0)
        run = self._scope.course.run
        await self._scope.sleep(lambda: run.now() + round((seconds or 0.0) * 1000))

    async def sleep_until(self, when: datetime) -> None:
        """Wait for the time `when`, which must know its time zone, and lie between 1970 and the
        year 9000."""
        end = -(-microseconds(when, "the time to sleep until") // 1000)
        await self._scope.sleep(lambda: end)

    async def gather(self, *branches: Callable[[WorkflowRun], Awaitable[Any]]) -> list[Any]:
        """What the branches give, in order. Each is an async function that gets a run of its own;
        all are waited for, then the first failure by order is raised."""
        for branch in branches:
            if not callable(branch):
                _close(*branches)
                raise ConfigError(
                    f"gather takes async functions of a run, `async def branch(run)`, and calls"
                    f" them itself, not {branch!r:.80}"
                )
        return await gather(self._scope, [partial(self._branch, branch) for branch in branches])

    async def now(self) -> datetime:
        """The time in UTC, as it was when the run first came here."""
        run = self._scope.course.run
        value = await self._scope.fixed("now", lambda: round(run.wall() * 1_000_000))
        return _EPOCH + timedelta(microseconds=value)

    async def uuid(self) -> UUID:
        """A random UUID, the same on every replay."""
        return UUID(await self._scope.fixed("uuid", lambda: str(uuid4())))

    async def random(self) -> float:
        """A random number from 0 to below 1, the same on every replay."""
        value: float = await self._scope.fixed("random", random.random)
        return value

    async def patched(self, name: str) -> bool:
        """Whether this run takes the way that `name` stands for.

        True for a run that comes here first with code that asks so, False for one whose record
        goes on past this place; the same answer wherever the run asks again.
        """
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ConfigError(f"patched {name!r:.80}: use 1 to 64 ASCII letters, digits, _ . and -")
        return await self._scope.patched(name)

    async def agent(self, agent: Any, message: Any) -> Any:
        """The Result of an agent of the App, or of its name, that works on `message`.

        Its steps live in this run's journal: a crash inside it resumes inside it, and its calls
        that need a person wait in this run. It works for this run's user and tenant. Raises
        StepFailedError where its model's provider fails it.
        """
        if self._kit.engage is None:
            raise ConfigError("run.agent needs an App with agents: App(agents=[…], workflows=[…])")
        engage = partial(self._kit.engage, agent, message)
        inside, engagement = await drive_inside(self._scope, engage, _task_digest)
        if inside.end.error is not None:
            step = inside.end.name.removesuffix("/end")
            raise StepFailedError(step=step, error=inside.end.error) from inside.raised
        return engagement.result(inside.run)

    async def _branch(self, branch: Callable[[WorkflowRun], Awaitable[Any]], scope: Scope) -> Any:
        return await branch(WorkflowRun(scope, self._kit))

    def _loaded(self, fact: Stepped, shape: Shape, *value: Any) -> Any:
        try:
            return shape.load(value[0] if value else fact.value)
        except MisfitError as misfit:
            at = self._scope.course.run.recorded_at(fact.name) or 0
            driven = f"{fact.name} whose value {misfit}"
            raise self._scope.course.differ(Item(fact.name, at, fact), driven) from misfit


def _task_digest(engagement: Engagement) -> str | None:
    name = engagement.program.key.partition("@")[0]
    return digest([name, msgspec.to_builtins(engagement.input)])


def _close(*given: Any) -> None:
    """Coroutines that nobody will await."""
    for one in given:
        if inspect.iscoroutine(one):
            one.close()


def _seconds(value: Any, what: str, least: float | None = None) -> float | None:
    """Seconds of a number or a timedelta. Raises ConfigError."""
    if value is None and least is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if type(seconds) not in (int, float) or not (least or 0.0) <= seconds < 1e11:
        raise ConfigError(f"{what}: give seconds or a timedelta, and no past, not {value!r:.80}")
    return float(seconds)
