"""What a message may hold is checked before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.fold.measure import request_tokens
from remit.agent.parts import check_accepted, user_message
from remit.errors import ConfigError
from remit.messages import Image, Pdf, Text, UserMessage, dump, load
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.values import codec

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7\n" + bytes(20)
ALL = Card(accepts={"text", "image", "pdf"}, hosts={"files.example.com"})


@pytest.mark.parametrize(
    ("content", "mend"),
    [
        ([], "empty"),
        ([Text(" ")], "blank"),
        ([Text(5)], "blank"),  # type: ignore[arg-type]  # this is what is refused
        (["x"], "made of"),
        ([Image()], "give one of them"),
        ([Image(PNG, "https://files.example.com/a.png")], "give one of them"),
        ([Image(b"BM1234")], "no PNG"),
        ([Image("a.png")], "reads a file"),  # type: ignore[arg-type]  # this is what is refused
        ([Image(PNG[:8] + bytes(5_000_000))], "too large"),
        ([Pdf(PNG)], "is no PDF"),
        ([Pdf(PDF, name=" ")], "file's name"),
        ([Pdf(PDF + bytes(20_000_000))], "too large"),
        ([Pdf(PDF + bytes(11_000_000)), Pdf(PDF + bytes(11_000_000))], "bytes; the most"),
        ([Text("x")] * 51, "51 parts"),
        ({"text": "x"}, "must be text, or a list"),
    ],
)
def test_a_message_that_no_provider_takes_is_refused(content: Any, mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        user_message(content)


@pytest.mark.parametrize(
    ("start", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_bytes(start: bytes, media_type: str | None) -> None:
    assert Image(start).media_type == media_type


def test_files_are_read_from_paths(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.pdf").write_bytes(PDF)
    assert Image.read(tmp_path / "a.png") == Image(PNG)
    assert Pdf.read(str(tmp_path / "b.pdf")) == Pdf(PDF, name="b.pdf")


@given(st.binary(), st.binary(), st.text())
def test_parts_are_data_and_come_back_as_they_were(one: bytes, other: bytes, text: str) -> None:
    message = UserMessage((Text(text), Image(one), Pdf(other), Image(url="https://x.de/")))
    assert codec.decode(codec.encode(message), UserMessage) == message
    assert msgspec.convert(msgspec.to_builtins(message), UserMessage) == message
    assert load(dump([message])) == [message]
    half = UserMessage((Text("\ud800"), Image(one)))
    assert codec.decode(codec.encode(half), UserMessage) == half


def test_what_is_shown_of_a_part_is_short() -> None:
    assert repr(Image(bytes(5_000))) == "Image(5000 bytes)"
    assert repr(Pdf(PDF)) == f"Pdf(document.pdf, {len(PDF)} bytes)"


@pytest.mark.parametrize("part", [Image(PNG), Pdf(PDF)])
def test_a_card_says_what_its_model_takes(part: Image | Pdf) -> None:
    check_accepted(ALL, [UserMessage((part,))])
    for card in (Card(), Card(accepts={"text"}), Card(accepts=())):
        with pytest.raises(ConfigError, match="so on its card"):
            check_accepted(card, [UserMessage((Text("?"), part))])


@pytest.mark.parametrize(
    "url",
    [
        "https://files.example.com/a.png",
        "https://files.example.com",
        "https://FILES.example.com/a?b=c#d",
    ],
)
def test_the_url_of_an_allowed_host_is_taken(url: str) -> None:
    check_accepted(ALL, [UserMessage((Image(url=url), Pdf(url=url)))])


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a.png",
        "https://evil.com/https://files.example.com",
        "https://files.example.com.evil.com/a",
        "https://files.example.com@evil.com/a",
        "https://evil.com\\@files.example.com/a",
        "https://files.example.com\\@evil.com/a",
        "https://files.example.com:8443/a",
        "https://files.example.com./a",
        "http://files.example.com/a",
        "file:///etc/passwd",
        "data:image/png;base64,AAAA",
        "https://files.example.com/a b",
        "https://files.example.com/a\n",
        " https://files.example.com/a",
        "https://169.254.169.254/latest",
    ],
)
def test_any_other_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"is not allowed|no plain https"):
        check_accepted(ALL, [UserMessage((Image(url=url),))])
    with pytest.raises(ConfigError, match=r"is not allowed|no plain https"):
        check_accepted(ALL, [UserMessage((Pdf(url=url),))])


@pytest.mark.parametrize(
    "options",
    [
        {"accepts": "image"},
        {"accepts": {"video"}},
        {"hosts": {"https://x.de"}},
        {"hosts": {"*"}},
        {"hosts": "x.de"},
        {"hosts": {"X.de"}},
        {"image_tokens": 0},
        {"pdf_tokens": None},
    ],
)
def test_a_card_that_says_nothing_of_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Card"):
        Card(**options)


def test_images_and_pdfs_count_by_the_card_and_not_as_text() -> None:
    def count(*parts: Any) -> int:
        asked = ModelRequest(instructions="", messages=(UserMessage((Text("?"), *parts)),))
        return request_tokens(asked, Card(image_tokens=1_000, pdf_tokens=20_000))

    bare = count()
    large = Image(PNG + bytes(1_000_000))
    assert count(large) == bare + 1_000
    assert count(large, Pdf(PDF), Image(PNG)) == bare + 22_000
