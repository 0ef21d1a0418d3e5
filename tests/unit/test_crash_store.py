"""A store that dies leaves what was written, and lets nothing more through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest

from remit.store.memory import MemoryStore
from remit.store.money import LedgerQuery
from remit.store.protocol import Store
from remit.store.records import Query
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.store_contract.arrange import PROGRAM, a_run, item, queued

WHENS: list[Literal["before", "after"]] = ["before", "after"]


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


async def life(store: Store) -> None:
    """One run's life: seven writes, a heartbeat and a few reads."""
    run = await queued(store, "r")
    await store.beat("w", 20, join=True)
    (had,) = await store.claim("w", [PROGRAM], format=1)
    await store.append([item(had, status="paused", asks=("k",))])
    await store.deliver(run, {"k": b"yes"}, "d")
    (again,) = await store.claim("w", [PROGRAM], format=1)
    await store.release("w", run, again.token)
    await store.cancel(run, b"end", 1, b"stop")
    await store.sweep()
    await store.read(run)


async def test_a_dry_run_counts_the_writes(store: MemoryStore) -> None:
    counting = CrashStore(store, at=None)

    await life(counting)

    assert counting.writes == 8
    assert not counting.dead


STATUS = [None, "queued", "running", "paused", "queued", "running", "queued", "cancelled"]


@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("when", WHENS)
async def test_it_dies_before_or_after_the_write(
    store: MemoryStore, at: int, when: Literal["before", "after"]
) -> None:
    crashing = CrashStore(store, at=at, when=when)

    with pytest.raises(Crash, match=f"died {when} write {at}"):
        await life(crashing)

    found = await store.get("r")
    done = at if when == "after" else at - 1
    assert (None if found is None else found.status) == STATUS[done]
    assert crashing.dead


CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "open": lambda store: store.open(),
    "close": lambda store: store.close(),
    "create": lambda store: store.create(a_run()),
    "claim": lambda store: store.claim("w", [PROGRAM], format=1),
    "next_due": lambda store: store.next_due([PROGRAM]),
    "beat": lambda store: store.beat("w", 1),
    "release": lambda store: store.release("w", "r", 1),
    "append": lambda store: store.append([]),
    "read": lambda store: store.read("r"),
    "lineage": lambda store: store.lineage("r"),
    "get": lambda store: store.get("r"),
    "heads": lambda store: store.heads(["r"]),
    "find": lambda store: store.find(Query()),
    "thread_head": lambda store: store.thread_head("t"),
    "deliver": lambda store: store.deliver("r", {}, "d"),
    "signals": lambda store: store.signals("r"),
    "cancel": lambda store: store.cancel("r", b"", 1, b""),
    "send": lambda store: store.send("r", b"", "m"),
    "sweep": lambda store: store.sweep(),
    "meters": lambda store: store.meters([]),
    "usage": lambda store: store.usage(LedgerQuery()),
    "delete_before": lambda store: store.delete_before(0),
    "forget": lambda store: store.forget("u", None),
}
NOT_COUNTED = {
    "open",
    "close",
    "next_due",
    "meters",
    "usage",
    "beat",
    "read",
    "lineage",
    "get",
    "heads",
    "find",
    "thread_head",
    "signals",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_a_dead_process_reaches_nothing(
    store: MemoryStore, call: Callable[[Store], Awaitable[object]]
) -> None:
    crashing = CrashStore(store, at=1)
    with pytest.raises(Crash):
        await crashing.create(a_run())

    with pytest.raises(Crash):
        await call(crashing)

    assert await store.find(Query()) == []


@pytest.mark.parametrize("name", CALLS)
async def test_only_writes_are_counted(store: MemoryStore, name: str) -> None:
    counting = CrashStore(store, at=None)

    await CALLS[name](counting)

    assert counting.writes == (0 if name in NOT_COUNTED else 1)


def test_every_call_of_a_store_is_here() -> None:
    calls = {name for name, value in vars(Store).items() if asyncio.iscoroutinefunction(value)}
    assert calls == set(CALLS)


def test_no_net_for_errors_catches_a_crash() -> None:
    assert not issubclass(Crash, Exception)


class SlowStore(MemoryStore):
    """Answers a read when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def get(self, run: str) -> Any:
        await self.go.wait()


async def test_an_answer_under_way_never_reaches_the_dead() -> None:
    slow = SlowStore()
    crashing = CrashStore(slow, at=1, when="after")
    asking = asyncio.create_task(crashing.get("r"))
    await asyncio.sleep(0)

    with pytest.raises(Crash):
        await crashing.create(a_run())
    slow.go.set()

    with pytest.raises(Crash):
        await asking


async def test_wakeups_end_with_the_process(store: MemoryStore) -> None:
    crashing = CrashStore(store, at=2, when="after")
    wakeups = crashing.wakeups()
    await crashing.create(a_run())
    await anext(wakeups)

    with pytest.raises(Crash):
        await crashing.create(a_run())

    with pytest.raises(Crash):
        await anext(wakeups)
    with pytest.raises(Crash):
        crashing.wakeups()


async def test_a_heart_stops_with_the_process(store: MemoryStore) -> None:
    crashing = CrashStore(store, at=1)
    await crashing.beat("w", 20, join=True)
    heart = crashing.heart()
    assert heart.beat("w", 20)

    with pytest.raises(Crash):
        await crashing.create(a_run())

    assert not heart.beat("w", 20)
