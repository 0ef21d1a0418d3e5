"""A call that may have happened is never repeated unless a person says that it has not."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Literal

import pytest

from remit import App, Run, ToolContext, tool
from remit.agent.hooks import HookContext, Hooks, ToolResult
from remit.agent.loop import AgentProgram
from remit.errors import EditRefusedError
from remit.host.readers import facts_of
from remit.kernel.facts import Started, Stepped
from remit.kernel.replay import replay
from remit.models.request import ModelRequest
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Call, Item, Say
from remit.tools.tool import Tool
from remit.values import content
from remit.values.messages import ToolMessage
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    calls_of,
    clerk,
    cut_short,
    dies,
    ended,
    facts,
    pass_time,
    results,
    soon,
)

REASON = "It is in the books as no. 17."


class Bank:
    """Payments that are counted outside of remit, and can be held in the middle."""

    def __init__(self, *, held: bool = False, calls: int = 1) -> None:
        self.paid: Counter[str] = Counter()
        self.calls = calls
        self.begun = asyncio.Event()
        self.opened = asyncio.Event()
        if not held:
            self.opened.set()

    def tools(self, **options: Any) -> list[Tool]:
        bank = self

        @tool(**({"repeat": "ask"} | options))
        async def pay(amount: int, ctx: ToolContext[Any]) -> str:
            """Pays an amount out."""
            bank.paid[ctx.idempotency_key] += 1
            if len(bank.paid) >= bank.calls:
                bank.begun.set()
            await bank.opened.wait()
            return f"paid {amount}"

        return [pay]


async def dies_while_paying(
    store: Store, clock: ManualClock, bank: Bank, calls: Item, tools: list[Tool]
) -> str:
    """The id of a run whose process is gone while `bank` pays; its lease has ended."""
    dying, ids = CrashStore(store, at=None), []

    async def life() -> None:
        async with app_of(clerk([calls], tools), dying, clock) as app:
            ids.append(await app.start("clerk", "x"))
            await soon(bank.begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(60)
    return ids[0]


async def test_a_call_whose_process_died_waits_for_a_person_and_runs_if_it_did_not_happen(
    store: Store, clock: ManualClock
) -> None:
    bank, other = Bank(held=True), Bank()
    run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
    async with app_of(clerk([Say("done")], other.tools()), store, clock) as app:
        found = await ended(app, run)
        assert (found.status, found.finish, other.paid) == ("paused", "approval", Counter())
        (pending,) = calls_of(found.pending)
        assert (pending.tool, pending.arguments, pending.doubt) == ("pay", {"amount": 5}, True)
        assert "may have happened" in pending.why
        await app.decide(run, approve=[pending.id], by=STAFF)
        found = await ended(app, run)
    assert [message.text for message in results(found.messages)] == ["paid 5"]
    assert other.paid == bank.paid
    kinds = [type(fact) for fact in await facts(store, run)]
    assert kinds.count(Started) == 2


async def test_a_call_that_a_person_keeps_back_tells_the_model_their_reason(
    store: Store, clock: ManualClock
) -> None:
    bank, other = Bank(held=True), Bank()
    run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
    async with app_of(clerk([Say("done")], other.tools()), store, clock) as app:
        (pending,) = calls_of((await ended(app, run)).pending)
        await app.decide(run, deny={pending.id: REASON}, by=STAFF)
        found = await ended(app, run)
    (result,) = results(found.messages)
    assert REASON in result.text
    assert "may have taken effect" in result.text
    assert (result.status, other.paid) == ("denied", Counter())


async def test_what_may_have_happened_cannot_be_edited(store: Store, clock: ManualClock) -> None:
    bank, other = Bank(held=True), Bank()
    run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
    async with app_of(clerk([], other.tools()), store, clock) as app:
        (pending,) = calls_of((await ended(app, run)).pending)
        with pytest.raises(EditRefusedError, match="may have happened"):
            await app.decide(run, edit={pending.id: {"amount": 6}}, by=STAFF)
        assert (await app.get(run)).pending == (pending,)


async def test_doubts_and_approvals_wait_in_one_pause_and_every_other_call_has_run(
    store: Store, clock: ManualClock
) -> None:
    """The safe call is made again, and the one that had not started runs."""
    bank, desk, other, new = Bank(held=True, calls=3), Desk(), Bank(), Desk()
    new.opened.set()
    calls: list[Say | Call] = [
        Call("pay", amount=1),
        Call("hold", number=2),
        Call("pay_out", amount=3),
        Call("pay", amount=4),
        Call("look", number=5),
        Call("pay", amount=6),
    ]
    agent = clerk([calls], [*bank.tools(), *desk.tools()])
    dying, ids = CrashStore(store, at=None), []

    async def life() -> None:
        async with app_of(agent, dying, clock) as app:
            ids.append(await app.start("clerk", "x"))
            await soon(desk.held.wait())
            await soon(bank.begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(60)
    agent = clerk([Say("done")], [*other.tools(), *new.tools()])
    async with app_of(agent, store, clock) as app:
        found = await ended(app, ids[0])
        waiting = [(one.arguments["amount"], one.doubt) for one in calls_of(found.pending)]
        assert waiting == [(1, True), (3, False), (4, True), (6, True)]
        assert (new.ran, other.paid) == ([("hold", 2)], Counter())
        first, second, third, last = (one.id for one in found.pending)
        await app.decide(ids[0], approve=[first, second], deny={third: "no"}, by=STAFF)
        await app.decide(ids[0], deny={last: "no"}, by=STAFF)
        found = await ended(app, ids[0])
    assert [message.status for message in results(found.messages)] == [
        "ok",
        "ok",
        "ok",
        "denied",
        "ok",
        "denied",
    ]
    assert (new.ran[1:], list(other.paid.values())) == ([("pay_out", 3)], [1])


async def test_a_call_that_queued_behind_the_others_has_not_started_and_runs(
    store: Store, clock: ManualClock
) -> None:
    bank, other = Bank(held=True, calls=2), Bank()
    calls: list[Say | Call] = [Call("pay", amount=number) for number in range(3)]
    dying, ids = CrashStore(store, at=None), []

    async def life() -> None:
        agent = clerk([calls], bank.tools(), parallel=2)
        async with app_of(agent, dying, clock) as app:
            ids.append(await app.start("clerk", "x"))
            await soon(bank.begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(60)
    async with app_of(clerk([], other.tools()), store, clock) as app:
        found = await ended(app, ids[0])
    assert [one.arguments["amount"] for one in calls_of(found.pending)] == [0, 1]
    assert len(other.paid) == 1
    assert not set(other.paid) & set(bank.paid)


async def test_a_call_that_is_cut_again_asks_again(store: Store, clock: ManualClock) -> None:
    """The first answer was about the first try."""
    banks = [Bank(held=True), Bank(held=True), Bank()]
    run = await dies_while_paying(store, clock, banks[0], Call("pay", amount=5), banks[0].tools())
    dying = CrashStore(store, at=None)

    async def life() -> None:
        async with app_of(clerk([], banks[1].tools()), dying, clock) as app:
            (pending,) = calls_of((await ended(app, run)).pending)
            await app.decide(run, approve=[pending.id], by=STAFF)
            await soon(banks[1].begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(60)
    async with app_of(clerk([Say("done")], banks[2].tools()), store, clock) as app:
        (pending,) = calls_of((await ended(app, run)).pending)
        assert (pending.doubt, banks[2].paid) == (True, Counter())
        await app.decide(run, approve=[pending.id], by=STAFF)
        assert (await ended(app, run)).finish == "answer"
    assert banks[0].paid == banks[1].paid == banks[2].paid


async def test_a_person_is_asked_once_the_dead_process_must_be_done_with_the_call(
    store: Store, clock: ManualClock
) -> None:
    """What they look up earlier could still change."""
    bank, other = Bank(held=True), Bank()
    dying, ids = CrashStore(store, at=None), []

    async def life() -> None:
        async with app_of(clerk([Call("pay", amount=5)], bank.tools()), dying, clock) as app:
            ids.append(await app.start("clerk", "x"))
            await soon(bank.begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(21)
    async with app_of(clerk([], other.tools()), store, clock) as app:
        waiting = asyncio.ensure_future(ended(app, ids[0]))
        await pass_time(clock, 3.9)
        assert not waiting.done()
        while not waiting.done():
            await pass_time(clock, 1)
        assert calls_of((await waiting).pending)[0].doubt


async def test_a_drain_that_lets_the_call_finish_leaves_no_doubt(
    store: Store, clock: ManualClock
) -> None:
    bank, other = Bank(held=True), Bank()
    async with app_of(clerk([Call("pay", amount=5)], bank.tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(bank.begun.wait())
        draining = asyncio.ensure_future(app.drain())
        await asyncio.sleep(0)
        bank.opened.set()
        assert await soon(draining)
    async with app_of(clerk([Say("done")], other.tools()), store, clock) as app:
        found = await ended(app, run)
    assert (found.finish, other.paid) == ("answer", Counter())


async def test_a_cancelled_run_says_that_a_call_in_doubt_may_have_taken_effect(
    store: Store, clock: ManualClock
) -> None:
    bank = Bank(held=True)
    run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
    async with app_of(clerk([], Bank().tools()), store, clock) as app:
        assert (await ended(app, run)).status == "paused"
        await app.cancel(run)
        (result,) = results((await app.get(run)).messages)
    assert result.status == "not_run"
    assert "may have taken effect" in result.text


async def test_a_call_in_doubt_stays_in_doubt_where_its_tool_is_gone_or_safe_by_now(
    store: Store, clock: ManualClock
) -> None:
    for tools in ([], Bank().tools(repeat="safe")):
        bank = Bank(held=True)
        run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
        async with app_of(clerk([], tools), store, clock) as app:
            assert calls_of((await ended(app, run)).pending)[0].doubt


def pays_twice(request: ModelRequest) -> Any:
    """Two payments side by side, one of which needs approval, and an answer."""
    if any(isinstance(message, ToolMessage) for message in request.messages):
        return Say("done")
    return [Call("pay", amount=1), Call("give", amount=2)]


def tools_of(bank: Bank) -> list[Tool]:
    @tool(repeat="ask", approval="always")
    async def give(amount: int, ctx: ToolContext[Any]) -> str:
        """Gives an amount away."""
        bank.paid[ctx.idempotency_key] += 1
        return f"gave {amount}"

    return [*bank.tools(), give]


async def decide_by_the_books(app: App, run: Run, bank: Bank) -> None:
    """Decide what waits as a person does who looks the payments up."""
    approve, deny = [], {}
    for one in calls_of(run.pending):
        number = next(c for c in run.turns[-1].calls if c.id == one.id).key
        if one.doubt and bank.paid[number]:
            deny[one.id] = REASON
        else:
            approve.append(one.id)
    await app.decide(run.id, approve=approve, deny=deny, by=STAFF)


async def live(store: Store, clock: ManualClock, bank: Bank, user: str, asked: list[str]) -> Run:
    agent = clerk(cut_short([pays_twice] * 9), tools_of(bank))
    async with app_of(agent, store, clock) as app:
        found = await app.runs(user=user)
        run_id = found[0].id if found else await app.start("clerk", "x", user=user)
        run = await ended(app, run_id)
        while run.status == "paused":
            asked += [one.tool for one in calls_of(run.pending) if one.doubt]
            await decide_by_the_books(app, run, bank)
            run = await ended(app, run_id)
        return run


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_write_a_call_happens_once_where_a_person_looks_it_up(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None)
    await live(counting, clock, Bank(), "u_0", [])
    asked: list[str] = []
    for number in range(1, counting.writes + 1):
        bank, user = Bank(), f"u_{number}"
        crash = CrashStore(store, at=number, when=when)
        try:
            run = await live(crash, clock, bank, user, asked)
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, BaseExceptionGroup):
                raise
            assert all(times == 1 for times in bank.paid.values())
            clock.advance(60)
            run = await live(store, clock, bank, user, asked)
        assert (run.status, run.finish) == ("succeeded", "answer")
        assert sorted(bank.paid.values()) == [1, 1]
        names = [fact.name for fact in await facts(store, run.id) if isinstance(fact, Stepped)]
        assert len(names) == len(set(names))
    assert {"pay", "give"} <= set(asked)


async def test_without_a_store_such_a_tool_runs_as_any_other() -> None:
    bank = Bank()
    result = await clerk([Call("pay", amount=5), Say("done")], bank.tools()).run("x")
    assert (result.finish, list(bank.paid.values())) == ("answer", [1])


async def test_a_call_that_nobody_decides_is_never_made_again(
    store: Store, clock: ManualClock
) -> None:
    bank = Bank(held=True)
    run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
    for _ in range(3):
        other = Bank()
        async with app_of(clerk([], other.tools()), store, clock) as app:
            assert (await ended(app, run)).status == "paused"
            clock.advance(3600)
            assert await app.recover() == 0
            assert other.paid == Counter()


@pytest.mark.parametrize("happened", [False, True])
async def test_a_run_with_a_doubt_replays(store: Store, clock: ManualClock, happened: bool) -> None:
    bank, other = Bank(held=True), Bank()
    run = await dies_while_paying(store, clock, bank, Call("pay", amount=5), bank.tools())
    async with app_of(clerk([Say("done")], other.tools()), store, clock) as app:
        (pending,) = calls_of((await ended(app, run)).pending)
        told: dict[str, Any] = {"deny": {pending.id: "yes"}}
        await app.decide(run, by=STAFF, **(told if happened else {"approve": [pending.id]}))
        await ended(app, run)
    recorded, still = await facts_of(store, run), Bank()
    program = AgentProgram(clerk([], still.tools()).plan(frozenset()))
    for end in range(1, len(recorded) + 1):
        assert await replay(program, recorded[:end]) is None
    assert still.paid == Counter()


async def test_a_call_that_did_not_happen_is_shown_to_the_hook_again_before_it_runs(
    store: Store, clock: ManualClock
) -> None:
    bank, other, asked = Bank(held=True), Bank(), list[str]()

    def before(ctx: HookContext, call: content.Call) -> ToolResult | None:
        asked.append(call.key)
        return ToolResult("Not today.", "refused") if len(asked) > 1 else None

    hooks = Hooks(before_tool=before)
    tools, script = bank.tools(), [Call("pay", amount=5)]
    dying = CrashStore(store, at=None)

    async def life() -> None:
        async with app_of(clerk(script, tools, hooks=hooks), dying, clock) as app:
            await app.start("clerk", "x", user="u_1")
            await soon(bank.begun.wait())
            dying.dead = True

    await dies(life)
    clock.advance(60)
    desk = clerk([Say("done")], other.tools(), hooks=hooks)
    async with app_of(desk, store, clock) as app:
        (run,) = await app.runs(user="u_1")
        found = await ended(app, run.id)
        await app.decide(run.id, approve=[found.pending[0].id], by=STAFF)
        found = await ended(app, run.id)
        facts_ = await facts_of(store, run.id)
    assert [message.text for message in results(found.messages)] == ["Not today."]
    assert (len(asked), len(set(asked)), other.paid) == (2, 1, Counter())
    assert await replay(AgentProgram(desk.plan(frozenset())), facts_) is None
