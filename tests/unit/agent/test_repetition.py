"""A text that goes in circles is told from one that does not, wherever its pieces end."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.brakes import Brakes, Ears
from remit.agent.brakes.repetition import Repetition
from remit.models.request import CallChunk, Chunk, ReasoningChunk, StopChunk, TextChunk
from tests.unit.agent.plain_texts import PLAIN

CHARS, TIMES = 3000, 5
WORDS = ["order", "ship", "city", "name", "paper", "blue", "seven", "river", "late", "cold"]


def circles(pieces: Sequence[str], chars: int = CHARS, times: int = TIMES) -> int | None:
    """After which piece the text goes in circles; None if it never does."""
    repetition = Repetition(chars, times)
    return next((at for at, piece in enumerate(pieces) if repetition.add(piece)), None)


def in_pieces(text: str, cuts: Sequence[int]) -> list[str]:
    ends = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


def noise(seed: int, words: int) -> str:
    chosen = random.Random(seed)
    return " ".join(f"{chosen.choice(WORDS)}{chosen.randrange(1000)}" for _ in range(words))


def is_periodic(text: str, longest: int) -> bool:
    """The law itself, slowly."""
    return any(text[period:] == text[:-period] for period in range(1, longest + 1))


@pytest.mark.parametrize(
    "passage",
    ["!", "\n", "no ", "I am sorry, I cannot find it. ", noise(1, 40), noise(2, 200)],
    ids=["a character", "a line", "a word", "a sentence", "a paragraph", "a page"],
)
def test_a_passage_again_and_again_is_a_circle(passage: str) -> None:
    before = noise(3, 300)
    text = before + passage * (20_000 // len(passage) + 1)

    at = circles(list(text))

    assert at is not None
    assert at - len(before) <= 4 * CHARS + 256 + len(passage)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_texts_are_no_circles(name: str) -> None:
    assert len(PLAIN[name]) >= 1000
    assert circles(in_pieces(PLAIN[name], range(0, len(PLAIN[name]), 5))) is None
    assert circles([PLAIN[name]]) is None


def test_a_passage_that_changes_a_little_each_time_is_no_circle() -> None:
    text = "".join(f"Row {number}: the order is shipped and paid.\n" for number in range(1000))

    assert circles([text]) is None


@given(
    before=st.text(max_size=700),
    passage=st.text(min_size=1, max_size=90),
    often=st.integers(1, 40),
    after=st.text(max_size=300),
    cuts=st.lists(st.integers(0, 10_000), max_size=30),
)
def test_where_the_pieces_end_makes_no_difference(
    before: str, passage: str, often: int, after: str, cuts: list[int]
) -> None:
    text = before + passage * often + after
    pieces = in_pieces(text, cuts)

    whole, parted = circles(list(text), 240, 3), circles(pieces, 240, 3)

    assert (whole is None) == (parted is None)
    if whole is not None and parted is not None:
        # It is told by the piece that brings the character which tells it.
        assert sum(map(len, pieces[:parted])) <= whole < sum(map(len, pieces[: parted + 1]))


@given(
    text=st.text(alphabet="ab", max_size=1200)
    | st.builds(lambda some, often: some * often, st.text("abc", min_size=1), st.integers(1, 400)),
)
def test_what_is_told_is_what_the_law_says(text: str) -> None:
    windows = [(240, 80), (960, 320)]
    looks = range(256, len(text) + 1, 256)
    expected = any(
        is_periodic(text[end - size : end], longest)
        for end in looks
        for size, longest in windows
        if size <= end
    )

    assert (circles([text], 240, 3) is not None) == expected


def test_what_it_keeps_is_bounded() -> None:
    repetition = Repetition(CHARS, TIMES)
    piece = noise(4, 200)
    for number in range(50):
        repetition.add(f"{number}{piece}")
    tracemalloc.start()
    try:
        for number in range(500):
            repetition.add(f"{number}{piece}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 100_000


@pytest.mark.parametrize(
    "chunk",
    [TextChunk("so "), ReasoningChunk("so "), CallChunk(0, "", "so ")],
    ids=["text", "reasoning", "arguments"],
)
def test_every_kind_of_an_answer_s_text_is_listened_to(chunk: Chunk) -> None:
    ears = Ears(Brakes())

    assert any(ears.hear(chunk) for _ in range(2000))


def test_kinds_are_listened_to_one_by_one_and_no_text_is_let_pass() -> None:
    ears = Ears(Brakes())
    text, number = noise(5, 3000), 5

    for word in text.split():
        assert not ears.hear(TextChunk(word))
        assert not ears.hear(StopChunk("end"))
        assert not ears.hear(TextChunk(number))  # type: ignore[arg-type]  # a model of the user's
