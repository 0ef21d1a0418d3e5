"""Readers follow a run without a gap, whatever their process was told or missed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from remit.host.bus.memory import Hint, Item, MemoryBus, Passing, Recorded, Subscription
from remit.host.readers import Watcher, follow, settled
from remit.kernel.facts import AnyFact, Asked, Finished, Stepped, decode
from remit.store.protocol import Store
from remit.store.records import NewRun
from remit.testing.store_contract.arrange import item, join
from remit.values import codec
from remit.values.errors import ConfigError, RunNotFoundError

FACTS: list[AnyFact] = [
    Asked(at=1, input="?"),
    *(Stepped(at=2, name=f"step:{number}", value=number) for number in range(2, 5)),
    Finished(at=5, status="succeeded", finish="answer"),
]


async def taken(store: Store) -> None:
    """A run that a worker holds, with its first fact."""
    body = codec.encode(FACTS[0])
    await store.create(NewRun(id="run_1", program="toy@1", body=body, format=codec.FORMAT))
    await join(store, "w1")


async def recorded(store: Store, facts: Sequence[AnyFact]) -> None:
    """The rest of the facts, as another process stores them: nobody is told."""
    (claim,) = await store.claim("w1", ["toy@1"], format=codec.FORMAT)
    bodies = [codec.encode(fact) for fact in facts]
    await store.append([item(claim, *bodies, status="succeeded")])


async def followed(store: Store, bus: MemoryBus, begun: asyncio.Event) -> list[tuple[int, AnyFact]]:
    """All facts of the run; `begun` is set with the first."""
    found = []
    async for one in follow(store, bus, "run_1"):
        begun.set()
        if isinstance(one, Recorded):
            found.append((one.seq, decode(codec.encode(one.fact))))
    return found


async def test_a_fact_that_is_told_out_of_turn_brings_those_before_it(store: Store) -> None:
    bus = MemoryBus()
    await taken(store)
    begun = asyncio.Event()
    reading = asyncio.create_task(followed(store, bus, begun))
    await begun.wait()
    await recorded(store, FACTS[1:])
    bus.publish("run_1", Recorded(4, FACTS[3]))
    assert await asyncio.wait_for(reading, 5) == list(enumerate(FACTS, 1))


async def test_a_fact_that_is_told_twice_is_read_once(store: Store) -> None:
    bus = MemoryBus()
    await taken(store)
    begun = asyncio.Event()
    reading = asyncio.create_task(followed(store, bus, begun))
    await begun.wait()
    await recorded(store, FACTS[1:])
    for seq in (2, 2, 1, 3, 2, 4, 3, 5):
        bus.publish("run_1", Recorded(seq, FACTS[seq - 1]))
    assert await asyncio.wait_for(reading, 5) == list(enumerate(FACTS, 1))


async def test_what_led_to_a_fact_that_a_reader_has_is_shown_to_it_no_more(store: Store) -> None:
    bus, begun = MemoryBus(), asyncio.Event()
    await taken(store)
    seen: list[object] = []

    async def read() -> None:
        async for one in follow(store, bus, "run_1"):
            seen.append(one.seq if isinstance(one, Recorded) else one.event)
            begun.set()

    reading = asyncio.create_task(read())
    await begun.wait()
    bus.publish("run_1", Recorded(2, FACTS[1]))
    bus.publish("run_1", Passing("a piece of what fact 2 tells", 1))
    bus.publish("run_1", Passing("a piece of what comes", 2))
    await recorded(store, FACTS[1:])
    bus.publish("run_1", Hint())
    await asyncio.wait_for(reading, 5)
    assert seen == [1, 2, "a piece of what comes", 3, 4, 5]


async def taken_from(subscription: Subscription, number: int) -> list[Item]:
    return [await asyncio.wait_for(subscription.get(), 5) for _ in range(number)]


async def test_a_full_queue_turns_into_one_hint() -> None:
    """Also where the item that does not fit is nothing that a journal holds."""
    subscription = Subscription(room=3)
    for number in range(1, 4):
        subscription.put(Recorded(number, FACTS[0]))
    subscription.put(Passing("a piece of text"))
    subscription.put(Passing("another"))
    assert await taken_from(subscription, 2) == [Hint(), Passing("another")]


async def test_readers_of_other_runs_hear_nothing_and_leave_nothing() -> None:
    bus = MemoryBus()
    with bus.subscribe("run_1") as one, bus.subscribe("run_2") as two, bus.subscribe("run_1"):
        bus.publish("run_1", Hint())
        bus.publish("run_3", Hint())
        two.put(Passing("mine"))
        assert await taken_from(one, 1) == [Hint()]
        assert await taken_from(two, 1) == [Passing("mine")]
        assert set(bus.watched()) == {"run_1", "run_2"}
    assert not bus.watched()


async def test_who_waits_for_the_end_hears_of_no_step() -> None:
    bus, step, end = MemoryBus(), FACTS[1], FACTS[-1]
    with bus.subscribe("run_1", follows=False) as waiting, bus.subscribe("run_1") as reading:
        bus.publish_body("run_1", 2, codec.encode(step))
        bus.publish("run_1", Recorded(3, step))
        bus.publish("run_1", Passing("a piece of text"))
        bus.publish_body("run_1", 4, codec.encode(end))

        seen = [Recorded(2, step), Recorded(3, step), Passing("a piece of text"), Recorded(4, end)]
        assert await taken_from(reading, 4) == seen
        assert await taken_from(waiting, 1) == [Recorded(4, end)]


async def test_a_run_that_is_driven_here_is_not_asked_for(store: Store) -> None:
    await taken(store)
    bus = MemoryBus()
    watcher = Watcher(store, bus)
    with bus.subscribe("run_1") as news:
        await watcher.look({"run_1"})
        news.put(Passing("nothing was hinted at"))
        assert await taken_from(news, 1) == [Passing("nothing was hinted at")]

        await watcher.look()
        assert await taken_from(news, 1) == [Hint()]


async def test_who_follows_a_run_that_another_process_deletes_is_told(
    store: Store, other_store: Store
) -> None:
    """Whatever its reader waits for: the next fact, or that it settles."""
    await taken(store)
    bus, begun = MemoryBus(), asyncio.Event()
    watcher = Watcher(store, bus)
    reading = asyncio.create_task(followed(store, bus, begun))
    waiting = asyncio.create_task(settled(store, bus, "run_1"))
    await begun.wait()
    await other_store.cancel("run_1", codec.encode(FACTS[-1]), codec.FORMAT, b"")
    assert await other_store.delete_before(2**60) == 1

    await watcher.look()
    with pytest.raises(RunNotFoundError):
        await asyncio.wait_for(reading, 5)
    assert await asyncio.wait_for(waiting, 5) is None


async def test_who_comes_after_the_end_is_told_at_once() -> None:
    bus = MemoryBus()
    bus.close()
    with bus.subscribe("r") as news, pytest.raises(ConfigError, match="was left"):
        await asyncio.wait_for(news.get(), 1)
