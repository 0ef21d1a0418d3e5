"""Laws of telling calls that are written as text from text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.answer.detector import Detector, is_plain
from tests.unit.agent.answer.samples import HARMLESS, INSIDE, LEAKS, TOOLS

PROSE = "I look it up. "
PIECES = st.one_of(
    st.sampled_from([*LEAKS.values(), *HARMLESS.values()]),
    st.sampled_from(["\n", "\n\n", " ", "`", "```", "```tool_code\n", "<", "{", "[", "> ", "to="]),
    st.text(st.sampled_from("ab<>[]{}|`\"'/\n :=_\uff5c"), max_size=12),
)


def read(pieces: Sequence[str]) -> tuple[bool, str]:
    """Whether a call was found, and all that was shown."""
    detector = Detector(TOOLS)
    shown = "".join([detector.feed(piece) for piece in pieces] + [detector.close()])
    return detector.leaked, shown


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", LEAKS)
def test_an_answer_that_is_a_call_is_found_and_nothing_of_it_shown(name: str) -> None:
    assert read([LEAKS[name]]) == (True, "")


@pytest.mark.parametrize("name", INSIDE)
def test_a_call_behind_prose_is_found_and_the_prose_alone_shown(name: str) -> None:
    assert read([PROSE + INSIDE[name]]) == (True, PROSE)
    assert read([PROSE + "\n\n" + INSIDE[name]]) == (True, PROSE + "\n\n")


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_speaks_of_calls_passes_byte_for_byte(name: str) -> None:
    assert read([HARMLESS[name]]) == (False, HARMLESS[name])


@pytest.mark.parametrize("name", LEAKS)
def test_no_cut_shows_a_part_of_a_mark(name: str) -> None:
    text = LEAKS[name]
    for place in range(len(text) + 1):
        assert read([text[:place], text[place:]]) == (True, "")
    assert read(list(text)) == (True, "")


@pytest.mark.parametrize(
    "mark", ["<|tool_calls_section_beg", "<\uff5cDS", "<tool_calls", "<invoke name="]
)
def test_an_answer_that_ends_in_a_mark_does_not_show_it(mark: str) -> None:
    assert read(list(PROSE + mark)) == (True, PROSE)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(st.integers(0, 400), max_size=30))
def test_what_is_found_and_shown_does_not_depend_on_how_the_text_is_cut(
    text: str, places: list[int]
) -> None:
    whole = read([text])
    assert read(cut(text, places)) == whole
    assert read(list(text)) == whole


@given(st.lists(PIECES, max_size=8).map("".join))
def test_what_is_shown_is_the_text_or_its_beginning(text: str) -> None:
    leaked, shown = read(list(text))
    assert text.startswith(shown)
    assert leaked or shown == text


@given(st.text())
def test_any_text_without_a_mark_passes_as_it_comes(text: str) -> None:
    plain = "x" + "".join(c for c in text if c not in "<[`\n" and not c.isalpha())
    detector = Detector(TOOLS)
    detector.feed("x")
    assert all(detector.feed(letter) == letter for letter in plain)


HOSTILE = {
    "words": "to go ",
    "tags": "<tool_call> x ",
    "open tags": "<invoke ",
    "one open mark": "<|",
    "tokens": "<|a|>",
    "brackets": "[",
    "objects": '{"arguments":',
    "lines of objects": '{"arguments":\n',
    "objects of a tool": '{"name":"refund","arguments":\n',
    "ticks": "` `` ``` ",
    "lines of ticks": "`\n",
    "fences": "```\n",
    "a fence of calls": "```tool_code\nx\n",
    "thoughts": "Thought: x\n",
    "actions": "Action: refund[\n",
    "blanks": " ",
    "lines": "\n",
    "headers": "assistant ",
    "quotes": '{"name": "',
    "calls": "[refund(a=",
    "lines of calls": "[refund(a=\n",
    "lines of lists": "[[",
    "closers": "</x>",
    "flowers": "\u273fFUNCTION\u273f: ",
    "calls in a sentence": 'It wrote <tool_call>{"a": <tool_call>{"b": 1}</tool_call> here. ',
    "long calls in a sentence": f"A <tool_call>{{{'x' * 500} ",
    "quoted tags": "\u201c<tool_call>\u201d ",
    "double tags": "<<function>>refund ",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("ending", ["", "}", ")\n."])
def test_the_work_grows_as_the_text_does(name: str, ending: str) -> None:
    def steps(length: int, size: int) -> float:
        text = HOSTILE[name] * (length // len(HOSTILE[name])) + ending
        detector = Detector(TOOLS)
        for at in range(0, length, size):
            detector.feed(text[at : at + size])
        detector.close()
        return detector.steps / length

    assert max(steps(2_000, 1), steps(10_000, 100), steps(100_000, 10_000)) < 70


@given(st.lists(PIECES | st.sampled_from([*TOOLS, "\ufeff", "print(", "call:"]), max_size=8))
def test_what_is_plain_is_no_call_however_it_goes_on(pieces: list[str]) -> None:
    text = "".join(pieces)
    for end in range(min(len(text), 60) + 1):
        if is_plain(text[:end], TOOLS):
            assert read([text[:end]]) == (False, text[:end])


@pytest.mark.parametrize("leak", LEAKS.values())
def test_no_call_is_plain(leak: str) -> None:
    assert not is_plain(leak, TOOLS)
    assert not is_plain(f" \ufeff{leak}", TOOLS)


def test_most_texts_are_plain() -> None:
    assert all(is_plain(text, TOOLS) for text in ("", "A-1", "It is there.", "words of note 7"))
