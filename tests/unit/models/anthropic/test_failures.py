"""What goes wrong with Anthropic is told with its facts, at once, and without anyone's key."""

from __future__ import annotations

import asyncio
import socket
import traceback
from contextlib import aclosing

import pytest

from remit.models.failure import classify
from remit.values.errors import ConnectionFailedError, ProviderError, RemitError
from tests.loopback import Reply, loopback, plain
from tests.unit.models.anthropic.asking import (
    KEY,
    answer_to,
    begun,
    chunks_of,
    failing,
    framed,
    model,
    streamed,
    text,
)
from tests.unit.models.asking import asked

pytestmark = pytest.mark.slow

NOTHING = Reply([], status=0, ending="hang")
KINDS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


async def refused(reply: Reply, **options: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer_to(reply, **options)
    return caught.value


@pytest.mark.parametrize(("kind", "status"), KINDS.items())
async def test_a_refusal_is_told_with_its_facts_and_asked_once(kind: str, status: int) -> None:
    reply = plain(failing(kind), status, request_id="req_7", retry_after="3", x_should_retry="true")
    async with loopback(reply) as server:
        with pytest.raises(ProviderError) as caught:
            await chunks_of(model(server))

    error = caught.value
    assert (error.status, error.code, error.message) == (status, kind, "Try later")
    assert (error.request_id, error.retry_after) == ("req_7", 3.0)
    assert error.may_cost is (status in (500, 504))
    assert len(server.requests) == 1


@pytest.mark.parametrize(("kind", "status"), KINDS.items())
async def test_an_error_in_an_answer_has_the_status_of_its_kind_and_may_have_cost(
    kind: str, status: int
) -> None:
    error = await refused(streamed(begun(input_tokens=9), *text(0, "Hi"), failing(kind)))

    assert (error.status, error.code, error.message) == (status, kind, "Try later")
    assert str(status) in str(error)
    assert error.may_cost


async def test_an_error_of_another_kind_in_an_answer_has_the_status_of_the_answer() -> None:
    error = await refused(streamed(begun(), failing("moon_error")))

    assert (error.status, error.code) == (200, "moon_error")


async def test_an_error_may_come_before_everything_else() -> None:
    error = await refused(streamed(failing("overloaded_error")))

    assert error.status == 529


async def test_an_error_without_a_kind_is_one() -> None:
    error = await refused(plain({"error": {"message": "no such model"}}))

    assert (error.status, error.message) == (200, "no such model")


async def test_the_exact_code_stands_for_the_kind() -> None:
    details = {"error_code": "enforced_spend_limit_reached"}

    error = await refused(plain(failing("invalid_request_error", details=details), 400))

    assert error.code == "enforced_spend_limit_reached"


@pytest.mark.parametrize(
    "words",
    [
        "Your credit balance is too low to access the API.",
        "You have reached your specified API usage limits until June.",
    ],
)
async def test_a_plain_400_that_says_that_money_is_spent_has_the_code_of_that(words: str) -> None:
    error = await refused(plain(failing("invalid_request_error", words), 400))

    assert (error.code, classify(error, begun=False).why) == ("billing_error", "spent")


async def test_an_overload_behind_a_usage_report_may_have_cost_and_one_before_it_has_not() -> None:
    late = await refused(streamed(begun(input_tokens=9), failing("overloaded_error")))
    early = await refused(streamed(failing("overloaded_error")))

    assert (late.may_cost, early.may_cost) == (True, False)


async def test_the_requests_id_may_stand_in_the_body() -> None:
    error = await refused(streamed(begun(), failing("api_error") | {"request_id": "req_9"}))

    assert error.request_id == "req_9"


@pytest.mark.parametrize("body", [b"", b"<html>\n<h1>Bad gateway</h1></html>"])
async def test_a_refusal_in_another_form_is_one(body: bytes) -> None:
    error = await refused(Reply([body], 502, {"content-type": "text/html"}))

    assert (error.status, error.code) == (502, None)
    assert "<" not in error.message


def all_of(error: BaseException) -> str:
    """Whatever a log could show of an error."""
    shown = "".join(traceback.format_exception(error))
    return f"{error!r} {error} {vars(error)} {shown}"


def check_silent(error: RemitError) -> None:
    assert KEY not in all_of(error)
    assert error.__cause__ is None
    assert error.__context__ is None


ECHO = failing("authentication_error", f"invalid x-api-key: {KEY}, or sk-ant-api03-abcdefghijk")


async def test_no_error_shows_the_key_or_keeps_the_request() -> None:
    check_silent(await refused(plain(ECHO, 401)))
    check_silent(await refused(streamed(begun(), ECHO)))
    assert "abcdefghijk" not in (await refused(plain(ECHO, 401))).message


async def test_a_key_of_any_shape_is_hidden() -> None:
    error = await refused(
        plain(failing("api_error", "no: hunter2-hunter2"), 500), api_key="hunter2-hunter2"
    )

    assert error.message == "no: [hidden]"


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_a_server_that_is_not_there_cannot_be_reached_and_cost_nothing() -> None:
    async with loopback() as server:
        asking = model(server, base_url=f"http://127.0.0.1:{unused_port()}")
        with pytest.raises(ConnectionFailedError) as caught:
            await chunks_of(asking)

    assert not caught.value.may_cost
    check_silent(caught.value)


async def test_a_server_that_never_answers_is_given_up_and_may_have_cost() -> None:
    with pytest.raises(ConnectionFailedError, match=r"in 0\.2 seconds") as caught:
        await answer_to(NOTHING, timeout=0.2)

    assert caught.value.may_cost


async def test_a_connection_that_is_dropped_unanswered_may_have_cost() -> None:
    with pytest.raises(ConnectionFailedError) as caught:
        await answer_to(Reply([], status=0, ending="cut"))

    assert caught.value.may_cost
    check_silent(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign",
    [
        b": still here\n\n",
        b'event: ping\ndata: {"type": "ping"}\n\n',
        framed([{"type": "content_block_delta", "delta": {"type": "text_delta", "text": ""}}])[0],
    ],
    ids=["comments", "pings", "deltas without content"],
)
async def test_signs_of_life_are_no_answer(sign: bytes) -> None:
    with pytest.raises(ConnectionFailedError, match=r"for 0\.3 seconds"):
        await answer_to(Reply([sign], ending="repeat", pause=0.02), timeout=0.3)


async def test_cancelling_closes_the_stream() -> None:
    began = asyncio.Event()

    async def ask() -> None:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            async for _ in answer:
                began.set()

    async with loopback(streamed(begun(), *text(0, "Hi")[:2], ending="hang")) as server:
        asking = asyncio.create_task(ask())
        await began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.left.wait(), 5)


async def test_leaving_early_closes_the_stream() -> None:
    async with loopback(streamed(begun(), *text(0, "Hi")[:2], ending="hang")) as server:
        async with aclosing(model(server).stream(asked())) as answer:  # type: ignore[type-var]
            await anext(answer)
        await asyncio.wait_for(server.left.wait(), 5)
