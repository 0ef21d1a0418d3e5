"""Whatever a tool raises becomes an outcome, and says no more than it may."""

import asyncio
import logging
from typing import NoReturn

import pytest

from remit.values.errors import LetGo, ToolError
from tests.unit.tools.calls import Desk, add, raising


@pytest.mark.parametrize("which", [0, 1], ids=["async", "sync"])
async def test_a_tool_errors_text_reaches_the_model_word_for_word(which: int) -> None:
    outcome = await Desk().run(raising(ToolError("Ask for the order number first."))[which])

    assert (outcome.text, outcome.status) == ("Ask for the order number first.", "error")
    assert isinstance(outcome.error, ToolError)


async def test_a_tool_error_inside_a_group_reaches_the_model_too() -> None:
    group = ExceptionGroup("both", [ToolError("One."), ExceptionGroup("in", [ToolError("Two.")])])

    assert (await Desk().run(raising(group)[0])).text == "One.\nTwo."


class Mute(Exception):
    def __str__(self) -> NoReturn:
        raise SystemExit(3)


@pytest.mark.parametrize("which", [0, 1], ids=["async", "sync"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret"),
        ExceptionGroup("secret", [ValueError("secret"), ToolError("secret")]),
        BaseExceptionGroup("secret", [KeyboardInterrupt("secret")]),
        SystemExit("secret"),
        KeyboardInterrupt("secret"),
        GeneratorExit("secret"),
        asyncio.CancelledError("secret"),
        StopIteration("secret"),
        StopAsyncIteration("secret"),
        TimeoutError("secret"),
        Mute("secret"),
        RecursionError("secret"),
        ToolError("  "),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_is_an_error_with_a_safe_sentence(
    error: BaseException, which: int, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()

    outcome = await desk.run(raising(error)[which])

    assert outcome.status == "error"
    assert outcome.text.startswith("The tool failed. ")
    assert "secret" not in outcome.text
    assert "Traceback" not in outcome.text
    assert [record.name for record in caplog.records if record.exc_info] == ["remit.tools"] * (
        not isinstance(error, ToolError)
    )
    assert (await desk.run(add, {"a": 1})).text == "3"


async def test_class_and_message_are_told_only_where_that_is_wished() -> None:
    outcome = await Desk().run(raising(ValueError("x" * 10_000), expose_errors=True)[0])

    assert outcome.text.startswith("ValueError: xxx")
    assert len(outcome.text) < 2_100
    assert (await Desk().run(raising(Mute(), expose_errors=True)[1])).text == "Mute: "


async def test_a_long_tool_error_is_cut_like_a_result() -> None:
    outcome = await Desk().run(raising(ToolError("x" * 100), max_result_chars=10)[0])

    assert outcome.text == "x" * 10 + "\n[Cut: the first 10 of 100 characters.]"


@pytest.mark.parametrize("which", [0, 1], ids=["async", "sync"])
@pytest.mark.parametrize("wrap", [False, True], ids=["bare", "group"])
async def test_letting_go_of_the_run_is_no_result(which: int, wrap: bool) -> None:
    class Paused(LetGo):
        pass

    error: BaseException = BaseExceptionGroup("in", [Paused()]) if wrap else Paused()

    with pytest.raises(Paused):
        await Desk().run(raising(error)[which])


def test_an_outcomes_error_is_for_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outcome = asyncio.run(Desk().run(raising(ToolError("Say so."))[0]))

    assert isinstance(outcome.error, ToolError)
    assert "Say so." in caplog.text
    with pytest.raises(AttributeError):
        outcome.text = "other"  # type: ignore[misc]
