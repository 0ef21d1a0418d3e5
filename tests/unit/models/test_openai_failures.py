"""What goes wrong on the wire is told with its facts, at once, and without anyone's key."""

from __future__ import annotations

import asyncio
import socket
import traceback
from contextlib import aclosing
from typing import Any

import pytest

from remit.models.wire.failures import retry_after, scrub
from remit.values.content import Text
from remit.values.errors import ConnectionFailedError, ProviderError
from tests.loopback import Reply, delta, events, loopback, plain, stream
from tests.unit.models.asking import KEY, answer_to, asked, chunks_of, model

pytestmark = pytest.mark.slow

OPENAI = {"error": {"message": "Try later", "type": "requests", "code": "rate_limit_exceeded"}}


async def refused(reply: Reply, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer_to(reply, **options)
    return caught.value


@pytest.mark.parametrize(
    "status", [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529]
)
async def test_a_refusal_is_told_with_its_status_and_asked_once(status: int) -> None:
    async with loopback(plain(OPENAI, status, x_request_id="req_7", retry_after="3")) as server:
        with pytest.raises(ProviderError) as caught:
            await chunks_of(model(server))

    error = caught.value
    assert (error.status, error.code, error.message) == (status, "rate_limit_exceeded", "Try later")
    assert (error.request_id, error.retry_after) == ("req_7", 3.0)
    assert len(server.requests) == 1


async def test_a_server_cannot_ask_the_sdk_to_retry() -> None:
    async with loopback(plain(OPENAI, 500, x_should_retry="true", retry_after="0")) as server:
        with pytest.raises(ProviderError):
            await chunks_of(model(server))

    assert len(server.requests) == 1


BODIES: dict[str, tuple[Reply, str | None, str]] = {
    "a type where there is no code": (
        plain({"error": {"message": "No", "type": "invalid_request_error", "code": None}}, 400),
        "invalid_request_error",
        "No",
    ),
    "no error around it": (plain({"message": "No", "type": "bad"}, 400), "bad", "No"),
    "a detail": (plain({"detail": "Not Found"}, 404), None, "Not Found"),
    "a text as error": (plain({"error": "model is loading"}, 503), None, "model is loading"),
    "a list": (plain([{"error": {"message": "No", "code": 400}}], 400), None, "No"),
    "the upstream's own words": (
        plain({"error": {"code": 429, "message": "Oh", "metadata": {"raw": "slow"}}}, 429),
        None,
        "Oh: slow",
    ),
    "a page": (
        Reply([b"<html>\n<h1>Bad gateway</h1></html>"], 502, {"content-type": "text/html"}),
        None,
        "Bad gateway",
    ),
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
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "0.25"}, 0.25),
        (
            {
                "retry-after": "Fri, 27 Nov 2026 10:00:30 GMT",
                "date": "Fri, 27 Nov 2026 10:00:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Fri, 27 Nov 2026 09:00:00 GMT",
                "date": "Fri, 27 Nov 2026 10:00:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Fri, 27 Nov 2026 10:00:30 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_a_number_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def all_of(error: BaseException) -> str:
    """Whatever a log could show of an error."""
    shown = "".join(traceback.format_exception(error))
    return f"{error!r} {error} {vars(error)} {shown}"


ECHO = {"error": {"message": f"Incorrect API key provided: {KEY}. Or sk-proj-abcdefghijkl?"}}


async def test_a_refusal_does_not_show_the_key() -> None:
    error = await refused(plain(ECHO, 401))

    assert error.message == "Incorrect API key provided: [hidden]. Or [hidden]?"
    assert KEY not in all_of(error)


async def test_an_error_in_a_stream_does_not_show_the_key() -> None:
    error = await refused(stream(delta(content="Hi"), ECHO))

    assert KEY not in all_of(error)


async def test_a_key_of_any_shape_is_hidden() -> None:
    error = await refused(
        plain({"error": {"message": "no: hunter2-hunter2"}}, 401), api_key="hunter2-hunter2"
    )

    assert error.message == "no: [hidden]"


async def test_an_error_keeps_nothing_of_the_request() -> None:
    error = await refused(plain(OPENAI, 500))

    assert error.__cause__ is None
    assert error.__context__ is None


COSTS: list[tuple[Reply, bool]] = [
    (plain(OPENAI, 400), False),
    (plain(OPENAI, 429), False),
    (plain(OPENAI, 503), False),
    (plain(OPENAI, 408), True),
    (plain(OPENAI, 504), True),
    (stream(delta(content="Hi"), OPENAI), True),
    (stream({"choices": []}), True),
    (Reply([b"data: {\n\n"]), True),
    (Reply([events(delta(content="Hi"), done=False)], ending="cut"), True),
    (Reply([], status=0, ending="cut"), True),
]


@pytest.mark.parametrize(("reply", "may_cost"), COSTS)
async def test_a_failure_says_whether_it_may_have_cost(reply: Reply, may_cost: bool) -> None:
    with pytest.raises((ProviderError, ConnectionFailedError)) as caught:
        await answer_to(reply)

    error: Any = caught.value
    assert error.may_cost is may_cost


def test_a_long_message_is_cut_and_kept_on_one_line() -> None:
    assert scrub("a\n b", None) == "a b"
    assert len(scrub("word " * 1000, None)) == 500


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_a_server_that_is_not_there_cannot_be_reached() -> None:
    async with loopback() as server:
        asking = model(server, base_url=f"http://127.0.0.1:{unused_port()}/v1")
        with pytest.raises(ConnectionFailedError) as caught:
            await chunks_of(asking)

    assert KEY not in all_of(caught.value)
    assert caught.value.__context__ is None
    assert not caught.value.may_cost


NOTHING = Reply([], status=0, ending="hang")


async def test_a_server_that_never_answers_is_given_up() -> None:
    with pytest.raises(ConnectionFailedError, match=r"in 0\.2 seconds"):
        await answer_to(NOTHING, timeout=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign",
    [
        b": still here\n\n",
        events({"choices": []}, done=False),
        events(delta(content=""), done=False),
    ],
    ids=["comments", "chunks without choices", "chunks without content"],
)
async def test_signs_of_life_are_no_answer(sign: bytes) -> None:
    with pytest.raises(ConnectionFailedError, match=r"for 0\.3 seconds"):
        await answer_to(Reply([sign], ending="repeat", pause=0.02), timeout=0.3)


@pytest.mark.slow
async def test_a_slow_answer_that_goes_on_is_no_silence() -> None:
    dots = [events(delta(content="."), done=False)] * 5

    answer = await answer_to(Reply([*dots, events(delta("stop"))], pause=0.15), timeout=0.6)

    assert answer.parts == [Text(".....")]


async def test_cancelling_closes_the_stream() -> None:
    began = asyncio.Event()

    async def ask() -> None:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            async for _ in answer:
                began.set()

    async with loopback(Reply([events(delta(content="Hi"), done=False)], ending="hang")) as server:
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
    async with loopback(Reply([events(delta(content="Hi"), done=False)], ending="hang")) as server:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            await anext(answer)
        await asyncio.wait_for(server.left.wait(), 5)
