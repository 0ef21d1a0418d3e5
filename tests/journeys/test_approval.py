"""A call that needs a person waits for one, and everything else does not."""

from __future__ import annotations

from typing import Any

import pytest

from remit import Budget, ToolContext
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Item, Say, ScriptedModel
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    calls_of,
    check_request,
    clerk,
    ended,
    paused,
    results,
)

PAY: list[Item] = [
    [Call("look", number=1), Call("pay_out", amount=150), Call("look", number=2)],
    Say("done"),
]


async def test_a_gated_call_waits_and_every_other_call_has_run(
    store: Store, clock: ManualClock
) -> None:
    desk, model = Desk(), ScriptedModel(PAY)
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        run = await paused(app)
        (pending,) = calls_of(run.pending)
        assert (pending.tool, pending.arguments) == ("pay_out", {"amount": 150})
        assert pending.why
        assert len(pending.digest) == 64
        assert sorted(desk.ran) == [("look", 1), ("look", 2)]
        assert await app.decide(run.id, approve=[pending.id], by=STAFF) == 0
        run = await ended(app, run.id)
    assert (run.status, run.finish, run.text, run.pending) == ("succeeded", "answer", "done", ())
    assert sorted(desk.ran) == [("look", 1), ("look", 2), ("pay_out", 150)]
    assert [message.text for message in results(run.messages)] == ["seen 1", "paid 150", "seen 2"]
    check_request(model.requests[1])
    assert len(run.turns) == 2


async def test_a_denied_call_reaches_the_model_with_the_reason(
    store: Store, clock: ManualClock
) -> None:
    desk, model = Desk(), ScriptedModel(PAY)
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        run = await paused(app)
        await app.decide(run.id, deny={run.pending[0].id: "Not without a receipt."}, by=STAFF)
        run = await ended(app, run.id)
    assert run.finish == "answer"
    denied = results(model.requests[1].messages)[1]
    assert denied.status == "denied"
    assert "Not without a receipt." in denied.text
    assert ("pay_out", 150) not in desk.ran


async def test_the_same_tool_asks_again_for_its_next_call(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    script: list[Item] = [Call("pay_out", amount=1), Call("pay_out", amount=1), Say("done")]
    async with app_of(clerk(script, desk.tools()), store, clock) as app:
        run = await paused(app)
        first = run.pending[0].id
        await app.decide(run.id, approve=[first], by=STAFF)
        run = await ended(app, run.id)
        assert run.status == "paused"
        assert desk.ran == [("pay_out", 1)]
        (second,) = run.pending
        assert second.id != first
        await app.decide(run.id, approve=[second.id], by=STAFF)
        run = await ended(app, run.id)
    assert run.finish == "answer"
    assert len(set(desk.keys)) == 2


async def test_what_runs_is_the_call_that_was_seen_and_the_model_is_not_asked_between(
    store: Store, clock: ManualClock
) -> None:
    """A model that would ask for something else the second time."""
    desk = Desk()
    first = ScriptedModel([Call("pay_out", amount=1)])
    async with app_of(clerk(first, desk.tools()), store, clock) as app:
        run = await paused(app)
    second = ScriptedModel([Say("done")])
    async with app_of(clerk(second, desk.tools()), store, clock) as app:
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        run = await ended(app, run.id)
    assert desk.ran == [("pay_out", 1)]
    assert len(second.requests) == 1
    assert results(second.requests[0].messages)[0].text == "paid 1"


async def _async_no(args: Any) -> bool:
    return False


async def _async_yes(args: Any, ctx: ToolContext[Any]) -> bool:
    return ctx.user == "u_1"


def _raises(args: Any) -> bool:
    raise ValueError("secret")


CHECKS: list[tuple[Any, bool]] = [
    ("always", True),
    ("never", False),
    (lambda args: args.amount > 100, True),
    (lambda args: args.amount > 1000, False),
    (lambda args, ctx: ctx.user == "u_1", True),
    (_async_no, False),
    (_async_yes, True),
    (_raises, True),
    (lambda args: None, True),
]


@pytest.mark.parametrize(("check", "waits"), CHECKS)
async def test_a_check_says_whether_a_person_is_asked(
    store: Store, clock: ManualClock, check: Any, waits: bool
) -> None:
    desk = Desk()
    script: list[Item] = [Call("pay_out", amount=150), *([] if waits else [Say("done")])]
    async with app_of(clerk(script, desk.tools(approval=check)), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x", user="u_1"))
    assert run.status == ("paused" if waits else "succeeded")
    assert desk.ran == ([] if waits else [("pay_out", 150)])
    assert not waits or "secret" not in calls_of(run.pending)[0].why


async def test_a_check_is_not_asked_about_arguments_that_do_not_fit(
    store: Store, clock: ManualClock
) -> None:
    seen: list[Any] = []

    def check(args: Any) -> bool:
        seen.append(args)
        return True

    script: list[Item] = [Call("pay_out", amount="ten"), Say("done")]
    async with app_of(clerk(script, Desk().tools(approval=check)), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
    assert (run.finish, seen) == ("answer", [])


async def test_the_resumed_run_is_the_same_run(store: Store, clock: ManualClock) -> None:
    """Its turns and its budget carry over; a pause of an hour is no time at work."""
    desk = Desk()
    budget = Budget(turns=2, seconds=60)
    script: list[Item] = [Call("pay_out", amount=1), Call("pay_out", amount=2)]
    async with app_of(clerk(script, desk.tools(), budget=budget), store, clock) as app:
        run = await paused(app, user="u_1", tenant="t_1")
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        run = await ended(app, run.id)
        clock.advance(3600)
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        run = await ended(app, run.id)
    assert (run.finish, len(run.turns)) == ("turns", 2)
    assert (run.user, run.tenant) == ("u_1", "t_1")
    assert desk.ran == [("pay_out", 1), ("pay_out", 2)]
