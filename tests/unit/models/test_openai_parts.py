"""Images and PDFs are sent in the vendor's shape."""

from __future__ import annotations

import base64
from typing import Any, get_args

import pytest
from openai.types.chat import ChatCompletionContentPartParam
from pydantic import TypeAdapter

from remit.errors import ConfigError
from remit.messages import Image, Pdf, Text, UserMessage
from remit.models.openai_chat import OpenAIChat
from remit.values.content import Part
from tests.unit.models.asking import asked, tool

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7\n" + bytes(20)
SHAPE: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionContentPartParam])


def content(*messages: UserMessage) -> Any:
    body = OpenAIChat("gpt-test").body(asked(*messages))
    assert len(body["messages"]) == 2
    return body["messages"][1]["content"]


def said(*parts: Part) -> UserMessage:
    return UserMessage(parts)  # type: ignore[arg-type]  # these are parts


def test_each_part_has_the_shape_that_the_vendor_documents() -> None:
    url = "https://files.example.com/a.png"
    sent = content(said(Text("What is this?"), Image(PNG), Image(url=url), Pdf(PDF, name="a.pdf")))
    assert sent == [
        {"type": "text", "text": "What is this?"},
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"},
        },
        {"type": "image_url", "image_url": {"url": url}},
        {
            "type": "file",
            "file": {
                "filename": "a.pdf",
                "file_data": f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}",
            },
        },
    ]
    # The official package's own types take it, every field of it.
    assert SHAPE.validate_python(sent) == sent
    assert get_args(ChatCompletionContentPartParam)


def test_text_alone_is_sent_as_text() -> None:
    assert content(said(Text("One "), Text("two"))) == "One two"
    assert content(said(Text("One")), said(Text("Two"))) == "One\n\nTwo"


def test_adjacent_messages_are_one_and_their_texts_stay_apart() -> None:
    sent = content(
        said(Text("One")), said(Text("Two"), Image(PNG)), said(Image(PNG), Text(" "), Text("Three"))
    )
    assert [part["type"] for part in sent] == ["text", "image_url", "image_url", "text"]
    assert [sent[0]["text"], sent[3]["text"]] == ["One\n\nTwo", "Three"]


def test_half_characters_beside_images_are_sendable() -> None:
    assert content(said(Text("a\ud800"), Image(PNG)))[0]["text"] == "a\ufffd"


def test_what_the_server_has_no_place_for_is_refused_before_the_call() -> None:
    with pytest.raises(ConfigError, match="no URL of a PDF"):
        content(said(Pdf(url="https://files.example.com/a.pdf")))
    plain = OpenAIChat("gpt-test", tools="json")
    with pytest.raises(ConfigError, match="text alone"):
        plain.body(asked(said(Text("?"), Image(PNG)), tools=[tool()]))
