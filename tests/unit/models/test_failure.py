"""What a failed model call may have cost, and what may follow it."""

from __future__ import annotations

import asyncio
import socket

import pytest

from remit.models.failure import Charge, Failure, Why, classify
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage
from tests.loopback import Reply, delta, events, loopback
from tests.unit.models.asking import chunks_of, model

Error = ProviderError | ConnectionFailedError

CLASSES: dict[str, tuple[Error, Why]] = {
    "nothing was sent": (ConnectionFailedError(reason="no route", may_cost=False), "unreached"),
    "it was sent and nothing came": (ConnectionFailedError(reason="cut off"), "unanswered"),
    "400": (ProviderError(status=400), "request"),
    "413": (ProviderError(status=413), "request"),
    "422": (ProviderError(status=422), "request"),
    "401": (ProviderError(status=401), "auth"),
    "403": (ProviderError(status=403), "auth"),
    "402": (ProviderError(status=402), "spent"),
    "404": (ProviderError(status=404), "unknown"),
    "408": (ProviderError(status=408), "unanswered"),
    "429": (ProviderError(status=429), "busy"),
    "500": (ProviderError(status=500), "unanswered"),
    "501": (ProviderError(status=501), "request"),
    "502": (ProviderError(status=502), "unanswered"),
    "503": (ProviderError(status=503), "busy"),
    "504": (ProviderError(status=504), "unanswered"),
    "529": (ProviderError(status=529), "busy"),
    "a quota that is used up": (ProviderError(status=429, code="insufficient_quota"), "spent"),
    "a bill that is not paid": (ProviderError(status=400, code="billing_error"), "spent"),
    "a ceiling of one's own": (
        ProviderError(status=400, code="enforced_spend_limit_reached"),
        "spent",
    ),
    "a model that is no more": (ProviderError(status=400, code="model_decommissioned"), "unknown"),
    "a model that is denied": (ProviderError(status=403, code="model_not_found"), "unknown"),
    "an overload told with 200": (ProviderError(status=200, code="overloaded_error"), "busy"),
    "a wrong request told with 200": (
        ProviderError(status=200, code="invalid_request_error"),
        "request",
    ),
    "an error told with 200": (ProviderError(status=200, code="api_error"), "unanswered"),
    "a page with 200": (ProviderError(status=200, answered=False), "astray"),
    "an error without a status": (ProviderError(message="it broke"), "unanswered"),
}


@pytest.mark.parametrize(("error", "why"), CLASSES.values(), ids=CLASSES)
def test_a_failure_before_the_first_token_is_classed_by_what_was_told(
    error: Error, why: Why
) -> None:
    assert classify(error, begun=False).why == why


@pytest.mark.parametrize(("error", "why"), CLASSES.values(), ids=CLASSES)
def test_whatever_breaks_an_answer_that_had_begun_is_paid_and_the_end(
    error: Error, why: Why
) -> None:
    failure = classify(error, begun=True)

    assert failure.charge == "something"
    assert not failure.repeats
    assert not failure.passes_on


@pytest.mark.parametrize(
    ("why", "charge", "repeats", "passes_on"),
    [
        ("unreached", "nothing", True, True),
        ("busy", "nothing", True, True),
        ("spent", "nothing", False, True),
        ("unknown", "nothing", False, True),
        ("off", "nothing", False, True),
        ("request", "nothing", False, False),
        ("auth", "nothing", False, False),
        ("unanswered", "perhaps", True, False),
        ("astray", "perhaps", False, False),
        ("broken", "something", False, False),
    ],
)
def test_what_may_follow_goes_by_what_it_may_have_cost(
    why: Why, charge: Charge, repeats: bool, passes_on: bool
) -> None:
    failure = Failure(why)

    assert (failure.charge, failure.repeats, failure.passes_on) == (charge, repeats, passes_on)


@pytest.mark.parametrize(("error", "why"), CLASSES.values(), ids=CLASSES)
def test_what_was_reported_as_used_may_have_cost_whatever_the_failure_is(
    error: Error, why: Why
) -> None:
    failure = classify(error, begun=False, usage=Usage(input_tokens=9))

    assert (failure.why, failure.repeats) == (why, Failure(why).repeats)
    assert (failure.charge, failure.passes_on) == ("perhaps", False)
    assert classify(error, begun=False, usage=Usage()) == classify(error, begun=False)


def test_what_the_provider_asks_for_is_kept() -> None:
    assert classify(ProviderError(status=429, retry_after=7.0), begun=False).after == 7.0


async def test_a_server_that_nobody_reaches_was_sent_nothing() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(ConnectionFailedError) as caught:
            async with loopback() as server:
                await chunks_of(model(server, base_url=f"http://127.0.0.1:{port}/v1"))

    assert not caught.value.may_cost


@pytest.mark.parametrize(
    "reply",
    [
        Reply([], status=0, ending="cut"),
        Reply([], status=0, ending="hang"),
        Reply([], ending="cut"),
        Reply([events(delta(content="Hel"), done=False)], ending="cut"),
    ],
    ids=["cut before the head", "no head in time", "cut behind the head", "cut in the answer"],
)
async def test_a_server_that_had_the_request_may_have_worked(reply: Reply) -> None:
    async with loopback(reply) as server:
        with pytest.raises(ConnectionFailedError) as caught:
            async with asyncio.timeout(5):
                await chunks_of(model(server, timeout=0.3))

    assert caught.value.may_cost
