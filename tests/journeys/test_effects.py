"""A transactional tool's effect and its record are one commit, on every SQL store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from cryptography.fernet import Fernet

from remit import App, Run, ToolContext, WorkflowRun, tool, workflow
from remit.agent.engaged import engaged
from remit.agent.hooks import Hooks, ToolResult
from remit.agent.loop import AgentProgram
from remit.errors import ConfigError, StoreError, ToolBusyError, ToolError
from remit.host.readers import facts_of
from remit.kernel.facts import Stepped
from remit.kernel.nested import Engagement
from remit.kernel.replay import replay
from remit.models.request import ModelRequest
from remit.store.coded import CodedStore
from remit.store.memory import MemoryStore
from remit.store.payload import Chain, Compressed, Encrypted
from remit.store.protocol import Store
from remit.store.records import Query
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Call, Item, Say
from remit.tools.tool import Tool
from remit.values.messages import ToolMessage
from tests.fixtures_store import opened
from tests.journeys.books import Books, paid, postgres_books, sqlite_books
from tests.journeys.clerk import (
    STAFF,
    app_of,
    clerk,
    cut_short,
    ended,
    facts,
    pass_time,
    results,
    soon,
)
from tests.journeys.flows import hosting

Kind = Callable[[Path, ManualClock], AbstractContextManager[Books]]
PAY: list[Item] = [Call("pay", amount=5), Say("done")]


@contextmanager
def coded_books(folder: Path, clock: ManualClock) -> Iterator[Books]:
    payload = Chain(Compressed(), Encrypted(Fernet.generate_key()))
    with sqlite_books(folder, clock) as books:
        yield replace(books, handle=lambda: CodedStore(books.handle(), payload))


@pytest.fixture(
    params=[
        pytest.param(sqlite_books, id="sqlite"),
        pytest.param(coded_books, id="coded"),
        pytest.param(postgres_books, id="postgres", marks=pytest.mark.slow),
    ]
)
def books(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Books]:
    kind: Kind = request.param
    with kind(tmp_path, clock) as made:
        yield made


@pytest.fixture
async def store(books: Books) -> AsyncIterator[Store]:
    async with opened(books.handle()) as store:
        books.begin()
        yield store


async def result(store: Store, clock: ManualClock, *tools: Tool) -> ToolMessage:
    """What the model reads of a payment."""
    async with app_of(clerk(PAY, tools), store, clock) as app:
        (found,) = results((await ended(app, await app.start("clerk", "x"))).messages)
        return found


async def test_the_effect_and_the_record_are_there_together(
    store: Store, clock: ManualClock, books: Books
) -> None:
    seen: list[int] = []

    def during(ctx: ToolContext[Any]) -> str:
        seen.append(len(books.keys))
        return "paid 5"

    assert (await result(store, clock, books.pay(during))).text == "paid 5"
    assert (seen, len(books.keys)) == ([0], 1)


def raises(ctx: ToolContext[Any]) -> str:
    raise ToolError("Ask for a receipt first.")


def fails_the_store(ctx: ToolContext[Any]) -> str:
    raise StoreError(reason="another store's")


@pytest.mark.parametrize(
    ("during", "text"),
    [
        (raises, "error: Ask for a receipt first."),
        (fails_the_store, "error: The tool failed. Nothing that it did was kept"),
    ],
)
async def test_a_tool_that_raises_leaves_nothing_but_the_record_of_its_error(
    store: Store, clock: ManualClock, books: Books, during: Any, text: str
) -> None:
    found = await result(store, clock, books.pay(during))
    assert f"{found.status}: {found.text}".startswith(text)
    assert books.keys == []


async def test_a_result_that_breaks_its_promise_is_an_error_of_a_call_that_happened(
    store: Store, clock: ManualClock, books: Books
) -> None:
    found = await result(store, clock, books.pay(lambda ctx: "five", returns=int))
    assert found.text.startswith("The tool ran, but its result cannot be used")
    assert len(books.keys) == 1


async def test_a_result_is_cut_as_any_other(store: Store, clock: ManualClock, books: Books) -> None:
    found = await result(store, clock, books.pay(lambda ctx: "a" * 99, max_result_chars=10))
    assert found.text.startswith("a" * 10 + "\n[Cut")


async def test_a_gated_call_takes_effect_once_it_is_approved(
    store: Store, clock: ManualClock, books: Books
) -> None:
    async with app_of(clerk(PAY, [books.pay(approval="always")]), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        assert (run.status, books.keys) == ("paused", [])
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        run = await ended(app, run.id)
    assert (run.finish, books.keys) == ("answer", [run.turns[0].calls[0].key])


async def test_calls_side_by_side_each_take_effect_once(
    store: Store, clock: ManualClock, books: Books
) -> None:
    """Also beside calls that are recorded by themselves."""

    @tool
    async def look(number: int) -> str:
        """Looks."""
        await asyncio.sleep(0)
        return f"seen {number}"

    calls: list[Say | Call] = []
    for number in range(5):
        calls += [Call("pay", amount=number), Call("look", number=number)]
    agent = clerk([calls, Say("done")], [books.pay(), look], parallel=10)
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
    assert [message.status for message in results(run.messages)] == ["ok"] * 10
    assert sorted(books.keys) == sorted(c.key for c in run.turns[0].calls if c.name == "pay")


async def test_a_busy_tool_takes_effect_when_it_is_busy_no_more(
    store: Store, clock: ManualClock, books: Books
) -> None:
    times: list[int] = []

    def during(ctx: ToolContext[Any]) -> str:
        times.append(1)
        if len(times) < 3:
            raise ToolBusyError
        return "paid"

    async with app_of(clerk(PAY, [books.pay(during)]), store, clock) as app:
        waiting = asyncio.ensure_future(ended(app, await app.start("clerk", "x")))
        while not waiting.done():
            await pass_time(clock, 0.5)
    assert (len(times), len(books.keys)) == (3, 1)


async def test_past_its_timeout_a_call_leaves_nothing(
    store: Store, clock: ManualClock, books: Books
) -> None:
    """A coroutine is cancelled, and what a function returns is too late."""
    loop, held = asyncio.get_running_loop(), asyncio.Event()

    def during(ctx: ToolContext[Any]) -> Any:
        loop.call_soon_threadsafe(held.set)
        if books.kind == "postgres":
            return asyncio.Event().wait()
        clock.advance(3)
        return "late"

    async with app_of(clerk(PAY, [books.pay(during, timeout=2)]), store, clock) as app:
        waiting = asyncio.ensure_future(ended(app, await app.start("clerk", "x")))
        await soon(held.wait())
        while not waiting.done():
            await pass_time(clock, 1)
        (found,) = results((await waiting).messages)
    assert found.status == "timeout"
    assert "Nothing that it did was kept" in found.text
    assert books.keys == []


async def test_a_run_cancelled_in_the_middle_leaves_nothing(
    store: Store, clock: ManualClock, books: Books
) -> None:
    loop, held, opened = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def during(ctx: ToolContext[Any]) -> Any:
        loop.call_soon_threadsafe(held.set)
        if books.kind == "postgres":
            return asyncio.Event().wait()
        while not ctx.cancelled and not opened.wait(0.01):
            pass
        return "late"

    async with app_of(clerk(cut_short(PAY), [books.pay(during)]), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(held.wait())
        # What goes to the database waits for the payment, which is told at once.
        cancelling = asyncio.ensure_future(app.cancel(run))
        if books.kind == "sqlite":
            opened.set()
        await soon(cancelling)
        found = await ended(app, run)
    kept = {message.status for message in results(found.messages)} == {"ok"}
    assert found.status == "cancelled"
    assert bool(books.keys) == kept


async def test_a_frozen_process_whose_run_was_taken_over_writes_nothing(
    store: Store, clock: ManualClock, books: Books
) -> None:
    """Its transaction comes after the takeover, and its tool is not even called."""
    entered, let_go = asyncio.Event(), asyncio.Event()

    class Frozen:
        """Stands still before its transaction."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def transact(self, item: Any, work: Any) -> Any:
            entered.set()
            await let_go.wait()
            return await store.transact(item, work)  # type: ignore[attr-defined]

        async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Any:
            return await store.beat(worker, lasts, join=join) if join else None

        async def claim(self, *args: Any, **options: Any) -> Any:
            return [] if entered.is_set() else await store.claim(*args, **options)

    frozen: Any = Frozen()
    ran: list[str] = []

    def during(ctx: ToolContext[Any]) -> str:
        ran.append("frozen")
        return "paid"

    async with app_of(clerk(cut_short(PAY), [books.pay(during)]), frozen, clock) as app:
        run = await app.start("clerk", "x")
        await soon(entered.wait())
        # As if the whole process stood still: its own clock stands, the store's goes on.
        async with opened(books.handle()) as another:
            await another.beat("other", 1000.0, join=True)
            clock.advance(30)
            await another.sweep()
            claims = await another.claim("other", ["clerk@1"], format=2, run=run)
            let_go.set()
            await pass_time(clock, 2)
            row = await another.get(run)
            assert row is not None
            assert [(row.token, row.seq)] == [(claim.token, claim.seq) for claim in claims]
    assert (ran, books.keys) == ([], [])


def pays(request: ModelRequest) -> Any:
    if any(isinstance(message, ToolMessage) for message in request.messages):
        return Say("done")
    return [Call("pay", amount=1), Call("pay", amount=2)]


async def live(store: Store, clock: ManualClock, books: Books, user: str) -> Run:
    agent = clerk(cut_short([pays] * 9), [books.pay()])
    async with app_of(agent, store, clock) as app:
        found = await app.runs(user=user)
        run = found[0].id if found else await app.start("clerk", "x", user=user)
        return await ended(app, run)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_write_the_effect_is_there_as_often_as_its_record(
    store: Store, clock: ManualClock, books: Books, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None)
    await live(counting, clock, books, "u_0")
    for number in range(1, counting.writes + 1):
        books.ask(f"DELETE FROM {books.table}")
        crash = CrashStore(store, at=number, when=when)
        try:
            await live(crash, clock, books, f"u_{number}")
        except BaseException as error:
            if not crash.dead:
                raise error
        for row in await store.find(Query(user=f"u_{number}")):
            assert len(books.keys) == await recorded(store, row.id)
        clock.advance(60)
        run = await live(store, clock, books, f"u_{number}")
        assert run.finish == "answer"
        assert sorted(books.keys) == sorted(call.key for call in run.turns[0].calls)


async def recorded(store: Store, run: str) -> int:
    """How many calls have their result recorded."""
    names = [fact.name for fact in await facts(store, run) if isinstance(fact, Stepped)]
    return sum("call" in name for name in names)


class Unsure:
    """A store whose transactions end with an error, before or after they were committed."""

    def __init__(self, store: Store, when: str, times: int) -> None:
        self.store, self.when, self.times = store, when, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def transact(self, item: Any, work: Any) -> Any:
        transact: Any = self.store.transact  # type: ignore[attr-defined]
        self.times -= 1
        if self.times < 0:
            return await transact(item, work)
        if self.when == "after":
            await transact(item, work)
        raise StoreError(reason="the connection broke")


@pytest.mark.parametrize(("when", "times"), [("before", 5), ("after", 1)])
async def test_a_commit_that_nobody_saw_is_looked_up_and_not_repeated(
    store: Store, clock: ManualClock, books: Books, when: str, times: int
) -> None:
    ran: list[int] = []

    def during(ctx: ToolContext[Any]) -> str:
        ran.append(1)
        return "paid"

    unsure: Any = Unsure(store, when, times)
    async with app_of(clerk(PAY, [books.pay(during)]), unsure, clock) as app:
        waiting = asyncio.ensure_future(ended(app, await app.start("clerk", "x")))
        while not waiting.done():
            await pass_time(clock, 0.1)
        run = await waiting
    assert [message.text for message in results(run.messages)] == ["paid"]
    assert (len(ran), len(books.keys)) == (1, 1)


async def test_a_tool_that_ends_the_transaction_itself_fails_and_the_run_goes_on(
    store: Store, clock: ManualClock, books: Books
) -> None:
    def during(ctx: ToolContext[Any]) -> Any:
        return ctx.tx.commit()

    async with app_of(clerk(PAY, [books.pay(during)]), store, clock) as app:
        waiting = asyncio.ensure_future(ended(app, await app.start("clerk", "x")))
        while not waiting.done():
            await pass_time(clock, 0.1)
        run = await waiting
    assert run.finish == "answer"
    assert [message.status for message in results(run.messages)] == ["error"]
    assert books.keys == []


async def test_a_model_reads_that_what_ended_its_transaction_itself_may_have_happened(
    store: Store, clock: ManualClock, books: Books
) -> None:
    async def during(ctx: ToolContext[Any]) -> str:
        await ctx.tx.execute("COMMIT")
        return "paid"

    def refused(ctx: ToolContext[Any]) -> Any:
        ctx.tx.execute("COMMIT")

    on_postgres = books.kind == "postgres"
    async with app_of(
        clerk(PAY, [books.pay(during if on_postgres else refused)]), store, clock
    ) as app:
        waiting = asyncio.ensure_future(ended(app, await app.start("clerk", "x")))
        while not waiting.done():
            await pass_time(clock, 0.1)
        (found,) = results((await waiting).messages)
    told = "It may or may not have done" if on_postgres else "Nothing that it did was kept"
    assert found.text.startswith(f"The tool failed. {told}")
    assert len(books.keys) == (1 if on_postgres else 0)


async def test_a_tool_of_the_wrong_kind_is_refused_when_the_app_is_made(
    clock: ManualClock, books: Books
) -> None:
    store = books.handle()
    plain, waiting = tools_of_both_kinds()
    right, wrong = (plain, waiting) if books.kind == "sqlite" else (waiting, plain)
    with pytest.raises(ConfigError, match="def"):
        App([clerk([], [wrong])], store=store, clock=clock)
    App([clerk([], [right])], store=store, clock=clock)


@pytest.mark.parametrize("number", [0, 1])
async def test_without_a_database_a_transactional_tool_is_refused_before_the_model_is_asked(
    clock: ManualClock, number: int
) -> None:
    agent = clerk([], [tools_of_both_kinds()[number]])
    with pytest.raises(ConfigError, match="sqlite"):
        App([agent], store=MemoryStore(clock), clock=clock)
    with pytest.raises(ConfigError, match="sqlite"):
        await agent.run("x")
    with pytest.raises(ConfigError, match="sqlite"):
        await anext(agent.stream("x"))


def tools_of_both_kinds() -> tuple[Tool, Tool]:
    @tool(transactional=True)
    def plain(ctx: ToolContext[Any]) -> str:
        """Works."""
        return ""

    @tool(transactional=True)
    async def waiting(ctx: ToolContext[Any]) -> str:
        """Works."""
        return ""

    return plain, waiting


def test_a_transactional_tool_has_nothing_to_ask() -> None:
    with pytest.raises(ConfigError, match="one commit"):

        @tool(transactional=True, repeat="ask")
        def pay() -> None:
            """Pays."""


async def test_an_agent_inside_a_workflow_takes_effect_as_any_other(
    store: Store, clock: ManualClock, books: Books
) -> None:
    inner = clerk(PAY, [books.pay()])

    @workflow
    async def settle(run: WorkflowRun, input: str) -> str:
        text: str = (await run.agent(inner, input)).text
        return text

    def engage(agent: Any, message: Any, recorded: str | None) -> Engagement:
        return engaged(AgentProgram(agent.plan(frozenset())), message)

    async with hosting(store, clock, settle, engage=engage) as flows:
        run = await flows.start(settle, "x")
        found = await flows.ended(run)
        names = await flows.names(run)
    assert (found.output, len(books.keys)) == ("done", 1)
    assert "agent:0/turn:0/call:0" in names


async def test_statements_end_with_the_time_of_a_tool_on_the_thread_that_writes(
    tmp_path: Path,
) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    @tool(transactional=True, timeout=0.2)
    def count(ctx: ToolContext[Any]) -> int:
        """Counts for ever."""
        found: int = ctx.tx.execute(endless).fetchone()[0]
        return found

    agent = clerk([Call("count"), Say("done")], [count])
    async with App([agent], store=f"sqlite:///{tmp_path}/runs.db") as app:
        run = await ended(app, await app.start("clerk", "x"))
    assert [message.status for message in results(run.messages)] == ["timeout"]


async def test_what_took_effect_replays_and_takes_none_again(
    store: Store, clock: ManualClock, books: Books
) -> None:
    for during in (paid, raises):
        books.ask(f"DELETE FROM {books.table}")
        async with app_of(clerk(PAY, [books.pay(during)]), store, clock) as app:
            run = await ended(app, await app.start("clerk", "x"))
        before, recorded = books.keys, await facts_of(store, run.id)
        program = AgentProgram(clerk([], [books.pay(during)]).plan(frozenset()))
        for end in range(1, len(recorded) + 1):
            assert await replay(program, recorded[:end]) is None
        assert books.keys == before


async def test_what_a_hook_makes_of_a_result_is_recorded_in_the_same_commit(
    store: Store, clock: ManualClock, books: Books
) -> None:
    hooks = Hooks(after_tool=lambda ctx, call, result: ToolResult(result.text.upper()))
    async with app_of(clerk(PAY, [books.pay()], hooks=hooks), store, clock) as app:
        (found,) = results((await ended(app, await app.start("clerk", "x"))).messages)

    assert (found.text, len(books.keys)) == ("PAID", 1)


async def test_a_hook_that_raises_leaves_nothing_of_the_call(
    store: Store, clock: ManualClock, books: Books
) -> None:
    def raises_too(*given: Any) -> None:
        raise ValueError("a bug in the hook")

    agent = clerk(PAY[:1], [books.pay()], hooks=Hooks(after_tool=raises_too))
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))

    assert run.status == "failed"
    assert "a bug in the hook" in (run.error or "")
    assert books.keys == []


async def test_a_hook_that_would_have_to_wait_on_the_writer_s_thread_is_refused() -> None:
    @tool(transactional=True)
    def pay(amount: int) -> str:
        """Pays."""
        return ""

    async def after(*given: Any) -> None:
        return None

    with pytest.raises(ConfigError, match="plain `def`"):
        clerk([], [pay], hooks=Hooks(after_tool=after))
