"""Images and PDFs: asked, sent, kept on threads, forked and given back in histories."""

from __future__ import annotations

from typing import Any

import pytest

from remit import Agent, Card, Pricing
from remit.errors import ConfigError
from remit.messages import Image, Pdf, Text, UserMessage, dump, load
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Item, Say, ScriptedModel
from tests.journeys.clerk import Desk, app_of, clerk, ended, facts, soon

PNG = Image(b"\x89PNG\r\n\x1a\n" + bytes(20))
PDF = Pdf(b"%PDF-1.7\n" + bytes(20), name="bill.pdf")
SEES = Card(pricing=Pricing(input=0, output=0), accepts={"text", "image", "pdf"})
WHAT: list[Text | Image | Pdf] = [Text("What is this?"), PNG, PDF]
ASKED = UserMessage(tuple(WHAT))


def seeing(*items: Item) -> ScriptedModel:
    return ScriptedModel(items, card=SEES)


async def test_parts_reach_the_model_as_they_were_given() -> None:
    model = seeing(Say("A bill."), Say("As I said."))
    first = await clerk(model).run(WHAT)
    assert model.requests[0].messages == (ASKED,)
    assert first.messages[0] == ASKED
    await clerk(model).run("Again?", history=load(dump(first.messages)))
    assert model.requests[1].messages[0] == ASKED
    assert ASKED.text == "What is this?"


@pytest.mark.parametrize("part", [PNG, PDF, Image(url="https://files.example.com/a.png")])
async def test_a_model_that_reads_text_alone_is_not_asked(part: Any) -> None:
    agent = clerk(ScriptedModel([]))
    with pytest.raises(ConfigError, match="card"):
        await agent.run([Text("?"), part])
    with pytest.raises(ConfigError, match="card"):
        await agent.run("?", history=[UserMessage((part,))])
    with pytest.raises(ConfigError, match="card"):
        agent.stream([part])


async def test_a_url_is_handed_on_only_for_the_hosts_of_the_card() -> None:
    model = ScriptedModel(
        [Say("A cat.")],
        card=Card(accepts={"text", "image"}, hosts={"files.example.com"}),
    )
    cat = Image(url="https://files.example.com/cat.png")
    await clerk(model).run([cat])
    assert model.requests[0].messages == (UserMessage((cat,)),)
    with pytest.raises(ConfigError, match="not allowed"):
        await clerk(model).run([Image(url="https://other.example.com/cat.png")])


async def test_parts_are_kept_in_the_journal_and_on_threads(
    store: Store, clock: ManualClock
) -> None:
    model = seeing(Say("A bill."), Say("Of Monday."))
    async with app_of(clerk(model), store, clock) as app:
        first = await app.run("clerk", WHAT, thread="t_1", user="u_1")
        await app.run("clerk", "Of when?", thread="t_1", user="u_1")
        kept = await app.history("clerk", "t_1", user="u_1")
    assert first.messages[0] == ASKED
    assert kept[0] == ASKED
    assert model.requests[1].messages[0] == ASKED
    entries = await store.read(first.id)
    # Readers of the first format know no images: they leave such a run to others.
    assert entries[0].format == 2
    assert isinstance((await facts(store, first.id))[0].input, dict)  # type: ignore[union-attr]  # it is asked


async def test_parts_can_be_sent_and_forked(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    model = seeing(Call("hold", number=1), Say("A bill."), Say("A cat."))
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        run = await app.start("clerk", "Wait")
        await soon(desk.held.wait())
        await app.send(run, [Text("And this?"), PNG])
        desk.opened.set()
        assert (await ended(app, run)).text == "A bill."
        fork = await app.fork(run, after_turn=0, message=[PNG])
        assert (await ended(app, fork)).text == "A cat."
    assert UserMessage((Text("And this?"), PNG)) in model.requests[1].messages
    assert model.requests[2].messages[-1] == UserMessage((PNG,))


async def test_an_app_refuses_what_the_card_does_not_take(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    agent = clerk([Call("hold", number=1), Say("Done.")], desk.tools())
    async with app_of(agent, store, clock) as app:
        with pytest.raises(ConfigError, match="card"):
            await app.start("clerk", WHAT)
        run = await app.start("clerk", "Wait")
        await soon(desk.held.wait())
        with pytest.raises(ConfigError, match="card"):
            await app.send(run, [PNG])
        desk.opened.set()
        assert (await ended(app, run)).status == "succeeded"
        with pytest.raises(ConfigError, match="card"):
            await app.fork(run, after_turn=0, message=[PDF])
        assert len(await app.runs()) == 1


async def test_a_thread_with_images_is_not_shown_to_a_model_that_cannot_read_them(
    store: Store, clock: ManualClock
) -> None:
    async def one(agent: Agent[Any, Any], message: Any) -> Any:
        async with app_of(agent, store, clock) as app:
            return await app.run("clerk", message, thread="t_1", user="u_1")

    await one(clerk(seeing(Say("A bill."))), WHAT)
    blind = ScriptedModel([])
    failed = await one(clerk(blind), "Of when?")
    assert (failed.status, blind.requests) == ("failed", [])
    assert "on its card" in failed.error
    again = await one(clerk(seeing(Say("Of Monday."))), "Of when?")
    assert again.text == "Of Monday."
