"""How a run is started: for whom, on which thread, once or later."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict, get_args

from msgspec.structs import replace

from remit.agent.asking import check_caller
from remit.app.house import House
from remit.app.named import check_options
from remit.host.client import Start
from remit.kernel.facts import Asked
from remit.store.records import Base, Query, StartKey
from remit.values import codec
from remit.values.errors import ConfigError, ThreadBusyError, UserIdError
from remit.values.identity import Caller, is_id
from remit.values.moment import microseconds
from remit.values.results import ENDED

IfBusy = Literal["reject", "enqueue", "cancel"]
WAITING = 100
"""How many runs may wait for one thread."""
_KEY_CHARS = 200
_REASON = "another run was started"


class StartOptions(TypedDict, total=False):
    """How `App.start` starts a run.

    `user`, `tenant`: the app's own ids of whom it is for. `thread`: the conversation that it goes
    on with. `by`: who asks. `key`: what makes the start happen once, for each user, tenant and
    agent; up to 200 characters. `at`: an aware time, up to the year 9000, before which it does
    not begin. `if_busy`:
    what happens while another run of the thread goes on: it is refused, waits its turn behind it
    (up to 100 do), or waits while the other is cancelled.
    """

    user: str | None
    tenant: str | None
    thread: str | None
    by: Caller | None
    key: str | None
    at: datetime | None
    if_busy: IfBusy


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """`StartOptions`, checked. Raises ConfigError and UserIdError."""

    user: str | None = None
    tenant: str | None = None
    thread: str | None = None
    by: Caller | None = None
    key: str | None = None
    at: datetime | None = None
    if_busy: IfBusy = "reject"

    def __post_init__(self) -> None:
        for kind in ("user", "tenant"):
            value = getattr(self, kind)
            if value is not None and not is_id(value):
                raise UserIdError(kind=kind, value=value)
        if self.thread is not None and not is_id(self.thread):
            raise ConfigError(
                f"thread {self.thread!r} is no id: use 1 to 64 of A-Z a-z 0-9 . _ : -"
            )
        if self.by is not None:
            check_caller(self.by)
        self._check_key()
        self._check_time()
        if self.if_busy not in get_args(IfBusy):
            raise ConfigError(
                f"if_busy must be one of {', '.join(get_args(IfBusy))}, not {self.if_busy!r:.80}"
            )

    @classmethod
    def of(cls, method: str, options: StartOptions, more: Iterable[str] = ()) -> Starting:
        """The options that `method` was given, which takes `more`, too."""
        check_options(method, options, [*StartOptions.__annotations__, *more])
        return cls(**options)

    def asked(self, input: object, at: int) -> Asked:
        """`input`, asked for these people at the time `at`, in milliseconds since 1970."""
        return Asked(
            at=at,
            input=input,
            user=self.user,
            tenant=self.tenant,
            thread=self.thread,
            by=self.by,
        )

    def start(
        self,
        program: str,
        asked: Asked,
        thread_name: str,
        *,
        base: Base | None = None,
        format: int = 1,
    ) -> Start:
        """What the store is to make. `thread_name` is the agent's in the keys of its threads
        and starts, whatever it is called today."""
        return Start(
            program=program,
            asked=asked,
            thread=self._whole(thread_name, self.thread),
            key=self._start_key(thread_name, asked, base),
            due=None if self.at is None else microseconds(self.at, "at"),
            enqueue=None if self.if_busy == "reject" else WAITING,
            base=base,
            format=format,
        )

    def thread_key(self, name: str) -> str | None:
        """The thread's key in the store: a thread is its agent's and its user's own."""
        return self._whole(name, self.thread)

    def _whole(self, name: str, last: str | None) -> str | None:
        return None if last is None else f"{self.tenant or ''}/{self.user or ''}/{name}/{last}"

    def _start_key(self, name: str, asked: Asked, base: Base | None) -> StartKey | None:
        whole = self._whole(name, self.key)
        if whole is None:
            return None
        said = codec.canonical([asked.input, self.thread, base])
        return StartKey(whole, hashlib.sha256(said).digest())

    def _check_key(self) -> None:
        if self.key is None:
            return
        if not isinstance(self.key, str) or not 1 <= len(self.key) <= _KEY_CHARS:
            raise ConfigError(f"key must be text of 1 to {_KEY_CHARS} characters")
        if not self.key.isprintable():
            raise ConfigError(f"key {self.key!r:.80} holds what cannot be printed: take it out")

    def _check_time(self) -> None:
        if self.at is None:
            return
        microseconds(self.at, "at")
        if self.thread is not None:
            raise ConfigError(
                "a run on a thread begins when its turn comes: leave at= or thread= out"
            )


async def begin(house: House, starting: Starting, start: Start) -> str:
    """Make the run, as `if_busy` says; its id."""
    if starting.if_busy != "cancel":
        return await house.client.submit(start)
    try:
        made = await house.client.submit(replace(start, enqueue=None))
    except ThreadBusyError as busy:
        made = await house.client.submit(start)
        await house.client.cancel(busy.run, _REASON, starting.by)
        return made
    if start.key is not None and start.thread is not None:
        await _clear_the_way(house, start.thread, made, starting.by)
    return made


async def _clear_the_way(house: House, thread: str, run: str, by: Caller | None) -> None:
    """Cancel what goes on before `run`, which an earlier try may have made and got no further."""
    row = await house.store.get(run)
    if row is None or row.status != "queued" or row.due is not None:
        return
    for live in await house.store.find(Query(thread=thread, limit=WAITING + 2)):
        goes_on = live.status in ("running", "paused") or live.due is not None
        if live.id != run and live.status not in ENDED and goes_on:
            await house.client.cancel(live.id, _REASON, by)
