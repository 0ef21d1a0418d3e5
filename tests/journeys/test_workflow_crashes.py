"""Workflows of any form, dying before and after any write: the same output, the same effects."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import Run, Workflow, WorkflowRun, workflow
from remit.errors import StepFailedError
from remit.host.readers import facts_of
from remit.kernel.facts import Stepped, decode
from remit.kernel.replay import replay
from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.store.records import Query
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.life import is_crash
from remit.values.results import Question
from tests.fixtures_store import opened
from tests.journeys.flows import Flows, hosting

When = Literal["before", "after"]
Work = Callable[[WorkflowRun], Awaitable[Any]]


@dataclass(frozen=True)
class Do:
    """One thing that a workflow does; a gather has branches, which do things in turn."""

    what: Literal["step", "fails", "ask", "sleep", "now", "gather"]
    branches: tuple[tuple[Do, ...], ...] = ()


@dataclass
class World:
    """What the steps did, by the keys that they were given."""

    effects: Counter[str] = field(default_factory=Counter)

    def effect(self, key: str) -> str:
        self.effects[key] += 1
        return f"did {key}"

    async def failing(self, key: str) -> None:
        self.effects[key] += 1
        raise LookupError(key)


def flow(world: World, todo: tuple[Do, ...]) -> Workflow:
    """A workflow that does these things in turn, and gives what each came to."""

    @workflow(name="any")
    async def any_flow(run: WorkflowRun, input: str) -> list[Any]:
        return await each(run, world, todo, input)

    return any_flow


async def each(run: WorkflowRun, world: World, todo: tuple[Do, ...], at: str) -> list[Any]:
    return [await one(run, world, do, f"{at}/{number}") for number, do in enumerate(todo)]


async def one(run: WorkflowRun, world: World, do: Do, at: str) -> Any:
    match do.what:
        case "step":
            return await run.step("do", world.effect, at)
        case "fails":
            try:
                return await run.step("do", world.failing, at)
            except StepFailedError as error:
                return error.error
        case "ask":
            return await run.ask(f"{at}?")
        case "sleep":
            return await run.sleep(60)
        case "now":
            return type(await run.now()).__name__
        case "gather":
            return await run.gather(
                *(branch(world, todo, f"{at}.{index}") for index, todo in enumerate(do.branches))
            )


def branch(world: World, todo: tuple[Do, ...], at: str) -> Work:
    async def work(run: WorkflowRun) -> list[Any]:
        return await each(run, world, todo, at)

    return work


async def live(
    flows: Flows, clock: ManualClock, any_flow: Workflow, user: str, *, times_first: bool = False
) -> Run:
    """One life of a process that starts the user's run unless it exists, answers its questions,
    and lets its times come: after the answers, or before them."""
    found = await flows.store.find(Query(user=user))
    run = found[0].id if found else await flows.start(any_flow, user, user)
    while True:
        seen = await flows.settled(run)
        if seen.status != "paused":
            return seen
        row = await flows.row(run)
        asks = [ask for ask in seen.pending if isinstance(ask, Question)]
        if asks and not (times_first and row.due is not None):
            await flows.answer(run, {ask.id: f"yes, {ask.question}" for ask in asks})
        else:
            clock.advance(61)
            flows.worker.ring()
        await flows.moves(run, row.seq)


async def lives(
    store: Store,
    clock: ManualClock,
    todo: tuple[Do, ...],
    user: str,
    crash: CrashStore,
    *,
    times_first: bool = False,
) -> tuple[Run, World]:
    """As many lives as the run takes; the first on a store that dies. No step that was recorded
    in it is made by another."""
    world = World()
    any_flow = flow(world, todo)
    try:
        async with hosting(crash, clock, any_flow) as flows:
            return await live(flows, clock, any_flow, user, times_first=times_first), world
    except BaseException as error:
        if not is_crash(error):
            raise
    done = await recorded(store, user)
    before = Counter(world.effects)
    clock.advance(60)
    async with hosting(store, clock, any_flow) as flows:
        await flows.worker.recover()
        run = await live(flows, clock, any_flow, user, times_first=times_first)
    assert not done & {key for key in world.effects if world.effects[key] > before[key]}
    return run, world


async def recorded(store: Store, user: str) -> set[str]:
    """The keys whose effects are recorded."""
    rows = await store.find(Query(user=user))
    facts = [decode(entry.body) for row in rows for entry in await store.read(row.id)]
    steps = [fact for fact in facts if isinstance(fact, Stepped)]
    made = {fact.value.removeprefix("did ") for fact in steps if isinstance(fact.value, str)}
    return made | {fact.error.removeprefix("LookupError: ") for fact in steps if fact.error}


STEP, ASK, SLEEP = Do("step"), Do("ask"), Do("sleep")
JOURNEY = (
    STEP,
    Do("now"),
    Do("gather", ((STEP, ASK, STEP), (SLEEP, STEP), (Do("fails"), STEP))),
    SLEEP,
    ASK,
    STEP,
)


async def test_the_journey_has_many_writes_to_die_at(store: Store, clock: ManualClock) -> None:
    counting = CrashStore(store, at=None, when="before")
    run, _ = await lives(store, clock, JOURNEY, "u_0", counting)
    assert run.status == "succeeded"
    assert counting.writes >= 20


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_workflow_killed_at_any_write_ends_the_same_and_repeats_no_recorded_step(
    store: Store, clock: ManualClock, when: When
) -> None:
    counting = CrashStore(store, at=None, when=when)
    whole, _ = await lives(store, clock, JOURNEY, "u_0", counting)
    for number in range(1, counting.writes + 1):
        user = f"u_{number}"
        crash = CrashStore(store, at=number, when=when)
        run, world = await lives(store, clock, JOURNEY, user, crash)
        assert (run.status, _without(run.output, user)) == (
            "succeeded",
            _without(whole.output, "u_0"),
        )
        assert len(world.effects) == 7


def _without(output: Any, user: str) -> str:
    return repr(output).replace(f"{user}/", "u/")


def things(depth: int) -> st.SearchStrategy[tuple[Do, ...]]:
    simple = st.sampled_from([STEP, STEP, Do("fails"), ASK, SLEEP, Do("now")])
    if not depth:
        return st.lists(simple, max_size=3).map(tuple)
    gathers = st.lists(things(depth - 1), max_size=3).map(
        lambda branches: Do("gather", tuple(branches))
    )
    return st.lists(simple | gathers, min_size=1, max_size=4).map(tuple)


def effects(todo: tuple[Do, ...], at: str) -> set[str]:
    """The keys of the effects that a whole run has."""
    found: set[str] = set()
    for number, do in enumerate(todo):
        key = f"{at}/{number}"
        if do.what in ("step", "fails"):
            found.add(key)
        for index, inner in enumerate(do.branches):
            found |= effects(inner, f"{key}.{index}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@given(
    todo=things(2),
    at=st.integers(1, 30),
    when=st.sampled_from(["before", "after"]),
    times_first=st.booleans(),
)
@settings(max_examples=40)
def test_any_workflow_killed_at_any_write_ends_the_same_with_the_same_effects(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    todo: tuple[Do, ...],
    at: int,
    when: When,
    times_first: bool,
) -> None:
    clock = ManualClock()
    file = tmp_path_factory.mktemp("any") / "runs.db"
    store: Store = MemoryStore(clock) if kind == "memory" else SqliteStore(file, clock)

    async def check() -> None:
        async with opened(store):
            await _check(store, clock, todo, CrashStore(store, at=at, when=when), times_first)

    asyncio.run(check())


async def _check(
    store: Store, clock: ManualClock, todo: tuple[Do, ...], crash: CrashStore, times_first: bool
) -> None:
    whole, there = await lives(store, clock, todo, "u_0", CrashStore(store, at=None))
    run, world = await lives(store, clock, todo, "u_1", crash, times_first=times_first)
    assert whole.status == run.status == "succeeded"
    assert _without(run.output, "u_1") == _without(whole.output, "u_0")
    assert set(there.effects) == effects(todo, "u_0")
    assert set(there.effects.values()) <= {1}
    assert set(world.effects) == effects(todo, "u_1")
    before = dict(world.effects)
    assert await replay(flow(world, todo).program(), await facts_of(store, run.id)) is None
    assert dict(world.effects) == before
