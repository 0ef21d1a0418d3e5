"""Encoded runs and an App without the codec: it says the mend, and writes nothing in plain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet

from remit import App, WorkflowRun, workflow
from remit.errors import StoreError
from remit.store.coded import CodedStore
from remit.store.payload import Encrypted
from remit.store.protocol import Store
from remit.store.records import Refusal
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Item, Say
from tests.journeys.clerk import STAFF, Desk, app_of, clerk, ended, paused, soon

PAY: list[Item] = [Call("pay_out", amount=150), Say("done")]
KEY = Fernet.generate_key()
Act = Callable[[App, str, str], Awaitable[Any]]


async def events_of(app: App, run: str, call: str) -> list[Any]:
    return [event async for event in app.events(run)]


@workflow
async def signed(run: WorkflowRun, text: str) -> bool:
    return await run.ask(text, returns=bool)


ACTS: dict[str, Act] = {
    "get": lambda app, run, call: app.get(run),
    "wait": lambda app, run, call: app.wait(run),
    "events": events_of,
    "approve": lambda app, run, call: app.decide(run, by=STAFF, approve=[call]),
    "deny": lambda app, run, call: app.decide(run, by=STAFF, deny={call: "xyzzy"}),
    "answer": lambda app, run, call: app.answer(run, {"ask:0": True}, by=STAFF),
    "send": lambda app, run, call: app.send(run, "xyzzy", by=STAFF),
    "cancel": lambda app, run, call: app.cancel(run, reason="xyzzy", by=STAFF),
}


async def contents(store: Store, run: str) -> Any:
    return await store.get(run), await store.read(run), await store.signals(run)


class Watched:
    """A store that tells when somebody has looked at signals."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.looked = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def signals(self, run: str) -> Any:
        self.looked.set()
        return await self.store.signals(run)


@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
@pytest.mark.parametrize("anybodys", [False, True], ids=["its app", "any app"])
async def test_without_the_codec_every_act_says_the_mend_and_writes_nothing(
    act: Act, anybodys: bool, store: Store, clock: ManualClock
) -> None:
    coded = CodedStore(store, Encrypted(KEY))
    async with app_of(clerk(PAY[:1], Desk().tools()), coded, clock) as app:
        run = await paused(app)
    before = await contents(store, run.id)
    agents = [] if anybodys else [clerk([], Desk().tools())]
    async with app_of(agents, store, clock) as app:
        with pytest.raises(StoreError, match=r"App\(payload=…\).*--app MODULE:APP"):
            await soon(act(app, run.id, run.pending[0].id))
    assert await contents(store, run.id) == before


async def test_without_the_codec_no_code_is_driven_over_an_encoded_run(
    store: Store, clock: ManualClock
) -> None:
    coded = CodedStore(store, Encrypted(KEY))
    async with app_of(clerk([Say("done")]), coded, clock) as app:
        run = await app.run("clerk", "x", thread="t_1")
    async with app_of(clerk([]), store, clock) as app:
        with pytest.raises(StoreError, match=r"App\(payload=…\)"):
            await soon(app.replay(run.id))
        with pytest.raises(StoreError, match=r"App\(payload=…\)"):
            await soon(app.fork(run.id, message="And then?"))
        with pytest.raises(StoreError, match=r"App\(payload=…\)"):
            await soon(app.history("clerk", "t_1"))


async def test_a_workflows_encoded_question_is_answered_by_who_has_the_codec(
    store: Store, clock: ManualClock
) -> None:
    coded = CodedStore(store, Encrypted(KEY))
    async with App(workflows=[signed], store=coded, clock=clock) as app:
        run = await soon(app.run("signed", "Is it xyzzy?"))
        async with App(store=store, clock=clock) as other:
            with pytest.raises(StoreError, match=r"App\(payload=…\)"):
                await other.answer(run.id, {"ask:0": True}, by=STAFF)
        assert await app.answer(run.id, {"ask:0": True}, by=STAFF) == 0
        assert (await ended(app, run.id)).output is True


async def test_an_encoded_message_is_left_for_a_process_with_the_codec(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
    async with app_of(clerk([]), CodedStore(store, Encrypted(KEY)), clock, work=False) as app:
        await app.send(run, "in French")
    watched: Any = Watched(store)
    async with app_of(clerk([]), watched, clock):
        await soon(watched.looked.wait())
    row = await store.get(run)
    assert row is not None
    assert row.status != "failed"
    clock.advance(60)
    said = clerk([Say("Voilà.")])
    async with app_of(said, CodedStore(store, Encrypted(KEY)), clock) as app:
        assert (await ended(app, run)).text == "Voilà."


async def test_why_a_run_is_blocked_is_never_shown_encoded(
    store: Store, clock: ManualClock
) -> None:
    coded = CodedStore(store, Encrypted(KEY))
    async with app_of(clerk([]), coded, clock, work=False) as app:
        run = await app.start("clerk", "x")
        await coded.beat("w", 20, join=True)
        (claim,) = await coded.claim("w", ["clerk@1"], format=2)
        await coded.release("w", run, claim.token, refusal=Refusal("d", "it says xyzzy"))
        assert (await app.get(run)).blocked_reason == "it says xyzzy"
    async with App(store=store, clock=clock) as other:
        (listed,) = await other.runs()
    assert "App(payload=…)" in (listed.blocked_reason or "")
    assert "encoded:" not in (listed.blocked_reason or "")
