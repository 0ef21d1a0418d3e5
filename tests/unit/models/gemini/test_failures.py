"""What goes wrong with Gemini is told with its facts, at once, and without anyone's key."""

from __future__ import annotations

import asyncio
import socket
import traceback
from contextlib import aclosing
from typing import Any

import pytest

from remit.models.wire.failures import scrub
from remit.values.content import Text
from remit.values.errors import ConnectionFailedError, ProviderError
from tests.loopback import Reply, loopback, plain
from tests.unit.models.asking import asked
from tests.unit.models.gemini.asking import (
    KEY,
    answer_to,
    chunk,
    chunks_of,
    events,
    model,
    stream,
    text,
)

pytestmark = pytest.mark.slow

BUSY: dict[str, Any] = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ],
    }
}


async def refused(reply: Reply, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer_to(reply, **options)
    return caught.value


def all_of(error: BaseException) -> str:
    """Whatever a log could show of an error."""
    shown = "".join(traceback.format_exception(error))
    return f"{error!r} {error} {vars(error)} {shown}"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 429, 499, 500, 502, 503, 504])
async def test_a_refusal_is_told_with_its_status_and_asked_once(status: int) -> None:
    async with loopback(plain(BUSY, status)) as server:
        with pytest.raises(ProviderError) as caught:
            await chunks_of(model(server))

    error = caught.value
    assert (error.status, error.code) == (status, "RESOURCE_EXHAUSTED")
    assert error.message == "You exceeded your current quota."
    assert error.retry_after == 34.5
    assert len(server.requests) == 1


async def test_a_header_says_when_to_come_back_before_the_report_does() -> None:
    assert (await refused(plain(BUSY, 429, retry_after="3"))).retry_after == 3.0


async def test_a_report_in_the_stream_says_when_to_come_back() -> None:
    error = await refused(stream(chunk(text("Hi")), BUSY))

    assert (error.status, error.retry_after) == (429, 34.5)


BODIES: dict[str, tuple[Reply, str | None, str]] = {
    "a list": (plain([BUSY], 429), "RESOURCE_EXHAUSTED", "You exceeded"),
    "a text as error": (plain({"error": "loading"}, 503), None, "loading"),
    "no error around it": (plain({"message": "No", "status": "BAD"}, 400), "BAD", "No"),
    "a page": (
        Reply([b"<html>\n<h1>Bad gateway</h1></html>"], 502, {"content-type": "text/html"}),
        None,
        "Bad gateway",
    ),
    "a text": (plain("No", 400), None, "No"),
    "nothing": (Reply([], 500, {}), None, ""),
}


@pytest.mark.parametrize(("reply", "code", "words"), BODIES.values(), ids=BODIES.keys())
async def test_a_refusals_words_are_found_wherever_they_stand(
    reply: Reply, code: str | None, words: str
) -> None:
    error = await refused(reply)

    assert error.code == code
    assert words in error.message
    assert "<" not in error.message


@pytest.mark.parametrize(
    "reply", [plain({"error": {"message": f"Bad key {KEY}."}}, 400), stream(chunk(text("a")))]
)
async def test_no_error_shows_the_key(reply: Reply) -> None:
    with pytest.raises((ProviderError, ConnectionFailedError)) as caught:
        await answer_to(reply)

    assert KEY not in all_of(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


COSTS: list[tuple[Reply, bool]] = [
    (plain(BUSY, 400), False),
    (plain(BUSY, 429), False),
    (plain(BUSY, 503), False),
    (plain(BUSY, 408), True),
    (plain(BUSY, 504), True),
    (stream(BUSY), False),
    (stream(chunk(text("Hi")), BUSY), True),
    (stream(chunk(finish="OTHER")), True),
    (stream({"candidates": []}), True),
    (plain({"hello": "world"}), True),
    (Reply([b"data: {\r\n\r\n"]), True),
    (Reply([events(chunk(text("Hi")))], ending="cut"), True),
    (Reply([], status=0, ending="cut"), True),
]


@pytest.mark.parametrize(("reply", "may_cost"), COSTS)
async def test_a_failure_says_whether_it_may_have_cost(reply: Reply, may_cost: bool) -> None:
    with pytest.raises((ProviderError, ConnectionFailedError)) as caught:
        await answer_to(reply)

    error: Any = caught.value
    assert error.may_cost is may_cost


async def test_an_error_in_a_stream_does_not_show_the_key() -> None:
    error = await refused(stream(chunk(text("a")), {"error": {"message": f"{KEY} is no key"}}))

    assert error.message == "[hidden] is no key"
    assert KEY not in all_of(error)


def test_keys_of_googles_shape_are_hidden_whosever_they_are() -> None:
    words = scrub("not AIzaSyOther_0123456789 and not ya29.a0AfB_by-xyz", None)

    assert words == "not [hidden] and not [hidden]"


async def test_a_server_that_is_not_there_cannot_be_reached() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with loopback() as server:
        with pytest.raises(ConnectionFailedError) as caught:
            await chunks_of(model(server, base_url=f"http://127.0.0.1:{port}"))

    assert not caught.value.may_cost
    assert KEY not in all_of(caught.value)
    assert caught.value.__context__ is None


async def test_a_redirect_does_not_take_the_key_along() -> None:
    async with loopback() as other:
        away = {"location": f"http://127.0.0.1:{other.port}/v1/models/x"}
        error = await refused(Reply([], 307, away))

        assert error.status == 307
        assert not other.requests


NOTHING = Reply([], status=0, ending="hang")


async def test_a_server_that_never_answers_is_given_up() -> None:
    with pytest.raises(ConnectionFailedError, match=r"in 0\.2 seconds"):
        await answer_to(NOTHING, timeout=0.2)


@pytest.mark.slow
async def test_a_slow_answer_that_goes_on_is_no_silence() -> None:
    dots = [events(chunk(text(".")))] * 5

    answer = await answer_to(Reply([*dots, events(chunk(finish="STOP"))], pause=0.15), timeout=0.6)

    assert answer.parts == [Text(".....")]


async def test_cancelling_closes_the_stream() -> None:
    began = asyncio.Event()

    async def ask() -> None:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            async for _ in answer:
                began.set()

    async with loopback(Reply([events(chunk(text("Hi")))], ending="hang")) as server:
        asking = asyncio.create_task(ask())
        await began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.left.wait(), 5)


async def test_cancelling_before_the_answer_closes_the_connection() -> None:
    async with loopback(NOTHING) as server:
        asking = asyncio.create_task(chunks_of(model(server)))
        await asyncio.wait_for(server.asked.wait(), 5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.left.wait(), 5)


async def test_leaving_early_closes_the_stream() -> None:
    async with loopback(Reply([events(chunk(text("Hi")))], ending="hang")) as server:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            await anext(answer)
        await asyncio.wait_for(server.left.wait(), 5)
