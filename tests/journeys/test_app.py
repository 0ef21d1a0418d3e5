"""An App: what it takes, what it sees, and that leaving it loses nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from remit import App, Caller, ToolContext, WorkflowRun, tool, workflow
from remit.errors import (
    ConfigError,
    RunNotFoundError,
    StoreError,
    UserIdError,
)
from remit.store.payload import Encrypted
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say, ScriptedModel
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    clerk,
    ended,
    results,
    soon,
)

SILENT = ScriptedModel([])


@workflow
async def greet(run: WorkflowRun, name: str) -> None:
    """Does nothing."""


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "two agents of one name": ({"agents": [clerk(SILENT), clerk(SILENT)]}, "two agents"),
    "an agent without its list": ({"agents": clerk(SILENT)}, "list"),
    "what is no agent": ({"agents": ["clerk"]}, "no Agent"),
    "a workflow among the agents": ({"agents": [greet]}, r"workflows=\["),
    "an agent among the workflows": ({"workflows": [clerk(SILENT)]}, r"agents=\["),
    "a codec's class": ({"payload": Encrypted}, r"class of one.*Encrypted\(…\)"),
    "a store of no kind": ({"store": "redis://localhost"}, "sqlite:"),
    "a store that is a path": ({"store": Path("runs.db")}, "store"),
    "a file where an address belongs": ({"store": "runs.db"}, "sqlite:"),
    "no store": ({"store": None}, "store"),
    "a grant that is one string": ({"grant": "payments:write"}, "set"),
    "no room": ({"room": 0}, "room"),
    "half a room": ({"room": 1.5}, "room"),
    "terms that are seconds": ({"lease": 20}, "LeaseTerms"),
    "deps that are no function": ({"deps": {"db": 1}}, "deps"),
}


@pytest.mark.parametrize(("options", "mend"), WRONG.values(), ids=WRONG)
def test_a_wrong_app_is_refused_when_it_is_made(options: dict[str, Any], mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        App(**({"store": "memory:"} | options))


async def test_an_agent_without_an_adapter_is_refused_before_anything_runs(
    store: Store, clock: ManualClock
) -> None:
    agent = clerk(SILENT).replace(model="nobody:x")
    with pytest.raises(ConfigError, match="adapter"):
        async with app_of(agent, store, clock):
            raise AssertionError("it is not opened")


async def test_a_file_that_is_no_database_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("These are not the runs you are looking for." * 100)
    with pytest.raises(StoreError):
        async with App(store=f"sqlite:///{tmp_path}/runs.db"):
            raise AssertionError("it is not opened")


async def test_an_app_that_is_not_open_says_so(store: Store, clock: ManualClock) -> None:
    app = app_of(clerk([]), store, clock)
    for asked in (
        app.start("clerk", "x"),
        app.run("clerk", "x"),
        app.wait("r"),
        app.get("r"),
        app.runs(),
        app.decide("r", approve=["c"], by=STAFF),
        app.cancel("r"),
        app.history("clerk", "t"),
        app.recover(),
        anext(aiter(app.events("r"))),
    ):
        with pytest.raises(ConfigError, match=r"not open.*async with"):
            await asked


async def test_an_app_may_be_opened_again_but_not_twice(store: Store, clock: ManualClock) -> None:
    app = app_of(clerk([Say("a"), Say("b")]), store, clock)
    async with app:
        assert (await app.run("clerk", "x")).text == "a"
        with pytest.raises(ConfigError, match="open already"):
            await app.__aenter__()
    async with app:
        assert (await app.run("clerk", "x")).text == "b"


async def test_an_unknown_agent_is_refused_with_the_names_that_there_are(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([]), store, clock) as app:
        for agent in ("desk", clerk([], name="desk"), 5, None):
            with pytest.raises(ConfigError, match="clerk"):
                await app.start(agent, "x")  # type: ignore[arg-type]  # some are what is refused
        assert await app.runs() == []


async def test_another_agent_of_the_same_name_is_refused(store: Store, clock: ManualClock) -> None:
    """It would not be the one that runs."""
    agent = clerk([Say("hi")])
    async with app_of(agent, store, clock) as app:
        assert (await app.run(agent, "x")).text == "hi"
        with pytest.raises(ConfigError, match="another"):
            await app.start(agent.replace(instructions="Be rude."), "x")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"user": "anna@example.com"}, UserIdError),
        ({"tenant": "a b"}, UserIdError),
        ({"message": " "}, ConfigError),
        ({"by": "staff_1"}, ConfigError),
        ({"by": Caller(user="anna@example.com")}, UserIdError),
        ({"by": Caller(user="u_1", tenant="a b")}, UserIdError),
    ],
)
async def test_a_wrong_start_leaves_no_run(
    store: Store, clock: ManualClock, options: dict[str, Any], error: Any
) -> None:
    async with app_of(clerk([]), store, clock) as app:
        with pytest.raises(error):
            await app.start("clerk", **({"message": "x"} | options))
        assert await app.runs() == []


async def test_a_run_tells_whose_it_is_and_how_it_went(store: Store, clock: ManualClock) -> None:
    by = Caller(user="staff_3", roles=frozenset({"staff"}))
    async with app_of(
        clerk([Call("look", number=1), Say("It is 1.")], Desk().tools()), store, clock
    ) as app:
        run = await app.run("clerk", "x", user="u_1", tenant="t_1", thread="th_1", by=by)
        assert run == await app.get(run.id)
        (listed,) = await app.runs()
    assert (run.agent, run.status) == ("clerk", "succeeded")
    assert (run.finish, run.text) == ("answer", "It is 1.")
    assert (run.user, run.tenant, run.thread, run.by) == ("u_1", "t_1", "th_1", by)
    assert (run.reason, run.error, run.output, run.pending) == (None, None, "It is 1.", ())
    assert (len(run.turns), len(run.messages), run.usage.tokens) == (2, 4, 240)
    assert run.created is not None
    assert run.ended is not None
    assert run.created.timestamp() == pytest.approx(clock.wall(), abs=60)
    assert (listed.id, listed.status, listed.user, listed.messages) == (
        run.id,
        "succeeded",
        "u_1",
        (),
    )


async def test_a_run_that_is_not_there_is_not_found(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock) as app:
        for asked in (app.get("run_x"), app.wait("run_x"), app.cancel("run_x")):
            with pytest.raises(RunNotFoundError, match="run_x"):
                await asked


async def test_an_app_sees_and_touches_only_runs_of_its_agents(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    async with (
        app_of(clerk([Say("hi")]), store, clock) as app,
        app_of(clerk([], name="other"), other_store, clock) as other,
        App(store=other_store, clock=clock) as without,
    ):
        run = await app.run("clerk", "x")
        for asked in (
            other.get(run.id),
            other.wait(run.id),
            other.cancel(run.id),
            other.decide(run.id, approve=["c"], by=STAFF),
            anext(aiter(other.events(run.id))),
        ):
            with pytest.raises(RunNotFoundError):
                await asked
        assert await other.runs() == []
        assert (await without.get(run.id)).text == "hi"
        assert [found.id for found in await without.runs()] == [run.id]


async def test_a_run_of_an_agent_that_nobody_has_waits(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
    async with app_of(clerk([Say("hi")], name="other"), store, clock) as other:
        assert (await other.run("other", "x")).text == "hi"
    async with app_of(clerk([], version="2"), store, clock) as newer:
        assert (await newer.get(run)).status == "queued"
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        assert (await ended(app, run)).text == "hi"


async def test_runs_are_listed_newest_first_page_by_page(store: Store, clock: ManualClock) -> None:
    async with app_of([clerk([]), clerk([], name="other")], store, clock, work=False) as app:
        made = []
        for number in range(5):
            clock.advance(1)
            made.append(await app.start("clerk", "x", user=f"u_{number % 2}", tenant="t_1"))
        other = await app.start("other", "x")
        await app.cancel(made[0])

        async def ids(**options: Any) -> list[str]:
            return [run.id for run in await app.runs(**options)]

        assert await ids() == [other, *made[::-1]]
        assert await ids(limit=2) == [other, made[4]]
        assert await ids(limit=2, before=made[4]) == [made[3], made[2]]
        assert await ids(limit=9, before=made[0]) == []
        assert await ids(agent="clerk") == made[::-1]
        assert await ids(agent="other") == [other]
        assert await ids(user="u_1") == [made[3], made[1]]
        assert await ids(tenant="t_1", status="cancelled") == [made[0]]
        with pytest.raises(ConfigError, match="nobody"):
            await ids(agent="nobody")


@pytest.mark.parametrize("is_async", [False, True])
async def test_deps_are_made_from_the_runs_user_and_tenant(
    store: Store, clock: ManualClock, is_async: bool
) -> None:
    made: list[Any] = []

    @tool
    async def look(ctx: ToolContext[Any]) -> str:
        """Looks."""
        return f"seen by {ctx.deps}"

    def make(user: str | None, tenant: str | None) -> Any:
        made.append((user, tenant))
        return f"{user} of {tenant}"

    async def make_later(user: str | None, tenant: str | None) -> Any:
        return make(user, tenant)

    agent = clerk([[Call("look"), Call("look")], Say("done")], [look])
    factory = make_later if is_async else make
    async with app_of(agent, store, clock, deps=factory) as app:
        run = await app.run("clerk", "x", user="u_1", tenant="t_1")
    assert [message.text for message in results(run.messages)] == ["seen by u_1 of t_1"] * 2
    assert made == [("u_1", "t_1")]


async def test_a_factory_that_fails_ends_the_run_as_failed(
    store: Store, clock: ManualClock
) -> None:
    def make(user: str | None, tenant: str | None) -> Any:
        raise LookupError("no database")

    agent = clerk([Call("look", number=1)], Desk().tools())
    async with app_of(agent, store, clock, deps=make) as app:
        run = await app.run("clerk", "x")
    assert (run.status, run.error) == ("failed", "LookupError: no database")
    assert [message.status for message in results(run.messages)] == ["not_run"]


@pytest.mark.parametrize(
    ("app_grant", "agent_grant", "shown"),
    [
        (None, {"a", "b"}, ["free"]),
        ({"a", "b"}, None, ["free"]),
        ({"a"}, {"a", "b"}, ["free", "one"]),
        ({"a", "b"}, {"b"}, ["free"]),
        ({"a", "b", "c"}, {"a", "b"}, ["free", "one", "both"]),
    ],
)
async def test_a_run_may_do_what_app_and_agent_both_allow(
    store: Store, clock: ManualClock, app_grant: Any, agent_grant: Any, shown: list[str]
) -> None:
    ran: list[str] = []

    def made(name: str, needs: set[str]) -> Any:
        @tool(name=name, needs=needs)
        async def work(ctx: ToolContext[Any]) -> str:
            """Works."""
            ran.append(name)
            assert ctx.grant == (app_grant or set()) & (agent_grant or set())
            return name

        return work

    tools = [made("free", set()), made("one", {"a"}), made("both", {"a", "b"})]
    model = ScriptedModel([[Call(tool.name) for tool in tools], Say("done")])
    agent = clerk(model, tools, **({"grant": agent_grant} if agent_grant else {}))
    options = {"grant": app_grant} if app_grant else {}
    async with app_of(agent, store, clock, **options) as app:
        run = await app.run("clerk", "x")
    assert [spec.name for spec in model.requests[0].tools] == shown
    assert sorted(ran) == sorted(shown)
    refused = [message for message in results(run.messages) if message.status == "refused"]
    assert len(refused) == 3 - len(shown)
    for message in refused:
        assert ", ".join(shown) in message.text


async def test_who_still_waits_when_an_app_is_left_is_told(
    store: Store, clock: ManualClock
) -> None:
    """As the requests of a service that is shut down."""
    app = app_of(clerk([]), store, clock, work=False)

    async def read(run: str) -> None:
        async for _ in app.events(run):
            pass

    async with app:
        run = await app.start("clerk", "x")
        waiting = [asyncio.create_task(app.wait(run)), asyncio.create_task(read(run))]
        for _ in range(20):
            await asyncio.sleep(0.001)
    for outcome in await soon(asyncio.gather(*waiting, return_exceptions=True)):
        assert isinstance(outcome, ConfigError)
        assert "left" in str(outcome)
    async with app:
        await app.cancel(run)
        assert (await ended(app, run)).status == "cancelled"
