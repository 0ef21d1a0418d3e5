"""What Gemini is sent: contents by turn, signatures in place, tools, the answer's form."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from typing import Any

import pytest

from remit.models.google import GoogleGemini, Thinking
from remit.models.google.turns import UNSIGNED
from remit.models.protocol import Card
from remit.models.request import OutputSpec, ToolSpec
from remit.testing import check_gemini
from remit.testing.provider import sign, sign_call, sign_text
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.errors import ConfigError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.unit.models.asking import asked, tool

NAME = "google:gemini-test"
PNG = b"\x89PNG\r\n\x1a\n"


def body(*messages: Message, **fields: Any) -> dict[str, Any]:
    """The body of a request, which Gemini takes."""
    options = {key: fields.pop(key) for key in ("thinking", "options", "card") if key in fields}
    found = GoogleGemini("gemini-test", **options).body(asked(*messages, **fields))
    check_gemini(found)
    return found


def user(*parts: str | Image | Pdf) -> UserMessage:
    return UserMessage(tuple(Text(p) if isinstance(p, str) else p for p in parts))


def answer(*parts: Text | Reasoning | Call, maker: str = NAME) -> AssistantMessage:
    return AssistantMessage(parts, maker)


def called(id: str, name: str = "look", signature: str | None = None, **args: Any) -> Call:
    return Call(id, name, args, f"k/{id}", signature=signature)


def thought(words: str, signature: str | None = None, form: str = "") -> Reasoning:
    return Reasoning(words, signature, NAME, form)


def signed(name: str = "look", **args: Any) -> str:
    return sign_call(name, args, "strict")


def test_a_request_has_its_instructions_its_cap_and_its_contents() -> None:
    assert body() == {
        "systemInstruction": {"parts": [{"text": "Help."}]},
        "generationConfig": {"maxOutputTokens": 4096},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
    }
    assert "systemInstruction" not in body(instructions=" \n")


def test_all_results_of_a_turn_go_together_in_the_order_of_its_calls() -> None:
    found = body(
        user("Go"),
        answer(called("a", signature=signed(at=1), at=1), called("b", at=2)),
        ToolMessage("b", "look", "two", "error"),
        ToolMessage("a", "look", "one"),
        user("And?"),
    )["contents"]

    assert [content["role"] for content in found] == ["user", "model", "user", "user"]
    assert found[1]["parts"] == [
        {
            "functionCall": {"id": "a", "name": "look", "args": {"at": 1}},
            "thoughtSignature": signed(at=1),
        },
        {"functionCall": {"id": "b", "name": "look", "args": {"at": 2}}},
    ]
    assert [part["functionResponse"] for part in found[2]["parts"]] == [
        {"id": "a", "name": "look", "response": {"output": "one"}},
        {"id": "b", "name": "look", "response": {"error": "two"}},
    ]
    assert found[3]["parts"] == [{"text": "And?"}]


def test_a_call_without_a_result_is_answered_and_a_result_without_a_call_left_out() -> None:
    found = body(user("Go"), ToolMessage("x", "look", "lost"), answer(called("a")))["contents"]

    [response] = found[2]["parts"]
    assert response["functionResponse"]["response"]["error"].startswith("Not run")
    assert len(found) == 3


def test_signatures_go_back_where_they_came() -> None:
    found = body(
        user("Go"),
        answer(thought("hm", sign("hm")), Text("See: "), called("a", signature=signed())),
        ToolMessage("a", "look", "one"),
        answer(thought("so"), Text("Done."), thought("", sign_text("strict"), "text")),
        user("More"),
    )["contents"]

    assert found[1]["parts"][0] == {"text": "hm", "thought": True, "thoughtSignature": sign("hm")}
    assert found[1]["parts"][1] == {"text": "See: "}
    assert found[1]["parts"][2]["thoughtSignature"] == signed()
    assert found[3]["parts"] == [
        {"text": "so", "thought": True},
        {"text": "Done.", "thoughtSignature": sign_text("strict")},
    ]


def test_a_signature_whose_text_is_not_where_it_was_is_left_out() -> None:
    alone = thought("", sign_text("strict"), "text")

    found = body(user("Go"), answer(alone, Text('{"a":1}')), user("On"))["contents"]

    assert found[1]["parts"] == [{"text": '{"a":1}'}]


def test_a_texts_signature_behind_calls_stands_by_itself() -> None:
    found = body(
        user("Go"),
        answer(called("a"), thought("", sign_text("strict"), "text")),
        ToolMessage("a", "look", "one"),
    )["contents"]

    assert found[1]["parts"][1] == {"text": "", "thoughtSignature": sign_text("strict")}


def test_two_signatures_of_texts_stay_with_their_own() -> None:
    one, other = thought("", sign_text("strict"), "text"), thought("", sign_text("strict"), "text")

    found = body(user("Go"), answer(Text("One."), one, Text("Two."), other), user("On"))

    assert found["contents"][1]["parts"] == [
        {"text": "One.", "thoughtSignature": sign_text("strict")},
        {"text": "Two.", "thoughtSignature": sign_text("strict")},
    ]


def test_a_call_that_gemini_has_not_signed_says_so() -> None:
    broken = Call("b", "look", {}, "k", malformed="{", signature="YQ==")

    for first in (called("a"), broken):
        found = body(user("Go"), answer(first, called("c")))["contents"][1]["parts"]
        assert found[0]["thoughtSignature"] == UNSIGNED
        assert "thoughtSignature" not in found[1]


def test_another_makers_reasoning_is_not_sent() -> None:
    alien = Reasoning("hm", "YQ==", "openai:gpt-x")

    found = body(user("Go"), answer(alien, Text("Hi"), maker="openai:gpt-x"), user("On"))

    assert found["contents"][1]["parts"] == [{"text": "Hi"}]


def test_what_says_nothing_is_not_sent() -> None:
    found = body(
        user("Go", " "),
        answer(thought("hm", sign("hm"))),
        user("\n"),
        answer(Text(" "), Text("One")),
        answer(Text("Two")),
        user("On"),
    )["contents"]

    assert [content["role"] for content in found] == ["user", "model", "user"]
    assert found[0]["parts"] == [{"text": "Go"}]
    assert found[1]["parts"] == [{"text": "One"}, {"text": "Two"}]


def test_one_turn_more_only_adds_at_the_end() -> None:
    messages: list[Message] = [
        user("Go"),
        answer(called("a", signature=signed())),
        ToolMessage("a", "look", "one"),
        user("Also this"),
        answer(Text("Done."), thought("", sign_text("strict"), "text")),
        user("More"),
        answer(called("b"), called("c")),
        ToolMessage("b", "look", "one"),
        ToolMessage("c", "look", "two"),
    ]
    bodies = [
        json.dumps(body(*messages[:count], tools=[tool("look")])).encode()
        for count in (1, 3, 4, 6, 9)
    ]

    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))


def test_half_characters_and_nan_can_be_sent() -> None:
    found = body(
        user("half \ud83d"),
        answer(called("a", at=float("nan"), to="\udc00")),
        ToolMessage("a", "look", "\ud83d"),
    )

    json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    assert found["contents"][1]["parts"][0]["functionCall"]["args"] == {"at": None, "to": "\ufffd"}


def test_bytes_of_images_and_pdfs_go_inline_and_urls_by_name() -> None:
    found = body(
        user(
            "See",
            Image(PNG),
            Pdf(b"%PDF-1"),
            Image(url="https://files.example.com/a.jpg?x=1"),
            Image(url="https://files.example.com/b"),
            Pdf(url="https://files.example.com/c"),
        )
    )["contents"][0]["parts"]

    data = [base64.b64encode(raw).decode() for raw in (PNG, b"%PDF-1")]
    assert found[1:] == [
        {"inlineData": {"mimeType": "image/png", "data": data[0]}},
        {"inlineData": {"mimeType": "application/pdf", "data": data[1]}},
        {
            "fileData": {
                "mimeType": "image/jpeg",
                "fileUri": "https://files.example.com/a.jpg?x=1",
            }
        },
        {"fileData": {"fileUri": "https://files.example.com/b"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://files.example.com/c"}},
    ]


def test_a_picture_that_gemini_does_not_read_is_refused_before_the_call() -> None:
    with pytest.raises(ConfigError, match="a PNG, a JPEG or a WebP"):
        body(user(Image(b"GIF89a")))


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("look", {"mode": "ANY", "allowedFunctionNames": ["look"]}),
    ],
)
def test_what_may_be_called_is_said(choice: str, config: dict[str, Any]) -> None:
    found = body(tools=[tool("look"), tool("3d")], tool_choice=choice)

    assert found["toolConfig"] == {"functionCallingConfig": config}
    assert "toolConfig" not in body(tools=[tool("look")])
    assert "toolConfig" not in body(tool_choice="none")


def test_a_name_that_gemini_refuses_is_sent_with_a_mark_before_it() -> None:
    found = body(
        user("Go"),
        answer(called("a", "3d")),
        ToolMessage("a", "3d", "one"),
        tools=[tool("3d"), tool("-x")],
        tool_choice="3d",
    )

    declared = [each["name"] for each in found["tools"][0]["functionDeclarations"]]
    assert declared == ["_3d", "_-x"]
    assert found["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["_3d"]
    assert found["contents"][1]["parts"][0]["functionCall"]["name"] == "_3d"
    assert found["contents"][2]["parts"][0]["functionResponse"]["name"] == "_3d"


def test_a_tools_schema_is_in_words_that_gemini_knows() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {
            "examples": {"$ref": "#/$defs/Item", "description": "What."},
            "kind": {"const": "a", "default": {"const": 1}},
            "either": {
                "oneOf": [{"type": "string"}, {"$ref": "#/$defs/Item"}],
                "discriminator": {"propertyName": "kind"},
            },
        },
        "$defs": {"Item": {"type": "object", "examples": [{}], "properties": {}}},
    }

    found = body(tools=[ToolSpec("look", "Looks.", schema)])

    [declared] = found["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"] == {
        "type": "object",
        "properties": {
            "examples": {"description": "What.", "anyOf": [{"$ref": "#/$defs/Item"}]},
            "kind": {"enum": ["a"], "default": {"const": 1}},
            "either": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Item"}]},
        },
        "$defs": {"Item": {"type": "object", "properties": {}}},
    }
    assert "$schema" in schema


def test_the_answers_form_is_kept_by_gemini_where_no_tool_can_be_called() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    final = tool("final_answer")
    output = OutputSpec(tool="final_answer", schema=schema)

    alone = body(tools=[final], output=output, tool_choice="final_answer")
    beside = body(tools=[tool("look"), final], output=output)

    assert "tools" not in alone
    assert "toolConfig" not in alone
    assert alone["generationConfig"]["responseMimeType"] == "application/json"
    assert alone["generationConfig"]["responseJsonSchema"] == schema
    assert "responseJsonSchema" not in beside["generationConfig"]
    assert len(beside["tools"][0]["functionDeclarations"]) == 2


def test_beside_tools_the_card_tells_whether_gemini_keeps_the_form() -> None:
    strict = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    output = OutputSpec(tool="final_answer", schema=tool().schema, strict=strict)
    tools, card = [tool("look"), tool("final_answer")], Card(structured=True)

    found = body(tools=tools, output=output, card=card, tool_choice="required")

    [declared] = found["tools"][0]["functionDeclarations"]
    assert declared["name"] == "look"
    assert "toolConfig" not in found
    assert found["generationConfig"]["responseJsonSchema"] == strict


@pytest.mark.parametrize("card", [Card(), Card(structured=True)])
def test_a_form_that_holds_itself_is_asked_for_by_a_call(card: Card) -> None:
    output = OutputSpec(tool="final_answer", schema={}, strict={"type": "object"}, recursive=True)

    found = body(tools=[tool("final_answer")], output=output, card=card)

    assert "responseJsonSchema" not in found["generationConfig"]
    assert len(found["tools"][0]["functionDeclarations"]) == 1


@pytest.mark.parametrize(
    ("thinking", "config"),
    [
        (Thinking(level="low"), {"thinkingLevel": "LOW"}),
        (Thinking(budget=0), {"thinkingBudget": 0}),
        (Thinking(budget=-1, shown=True), {"includeThoughts": True, "thinkingBudget": -1}),
        (Thinking(), None),
        (None, None),
    ],
)
def test_how_much_it_thinks_is_said(thinking: Thinking | None, config: Any) -> None:
    assert body(thinking=thinking)["generationConfig"].get("thinkingConfig") == config


def test_further_fields_are_sent_beside_ours() -> None:
    options = {"safetySettings": [], "generationConfig": {"temperature": 0}}

    found = body(options=options)

    assert found["safetySettings"] == []
    assert found["generationConfig"] == {"maxOutputTokens": 4096, "temperature": 0}


@pytest.mark.parametrize(
    ("options", "mend"),
    [
        ({"model": ""}, "a model's name"),
        ({"model": None}, "a model's name"),
        ({"model": "../secret"}, "a model's name"),
        ({"model": "gemini?key=1"}, "a model's name"),
        ({"client": object()}, "google.genai.Client"),
        ({"client": object(), "api_key": "k"}, "belong to the client"),
        ({"base_url": "generativelanguage"}, "http://"),
        ({"base_url": "https://proxy.example.com/g/v1beta/"}, "'https://proxy.example.com/g', not"),
        ({"timeout": 0}, "timeout"),
        ({"thinking": {"level": "low"}}, "Thinking"),
        ({"options": {"tools": [{"googleSearch": {}}]}}, "cannot hold tools"),
        ({"options": {"contents": []}}, "cannot hold contents"),
        ({"options": {"generationConfig": {"candidateCount": 2}}}, "candidateCount"),
        ({"options": {"generationConfig": {"thinkingConfig": {}}}}, "thinking="),
        ({"options": {"generationConfig": 7}}, "must be a mapping"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_when_it_is_made(
    options: dict[str, Any], mend: str
) -> None:
    with pytest.raises(ConfigError, match=mend):
        GoogleGemini(**{"model": "gemini-test"} | options)


@pytest.mark.parametrize(
    ("options", "mend"),
    [
        ({"level": "huge"}, "minimal, low, medium, high"),
        ({"budget": -2}, "number of tokens"),
        ({"budget": True}, "number of tokens"),
        ({"level": "low", "budget": 9}, "a level or a budget"),
    ],
)
def test_thinking_that_cannot_be_is_refused(options: dict[str, Any], mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        Thinking(**options)


def test_the_name_in_records_has_the_provider_once() -> None:
    assert GoogleGemini("google:gemini-test").name == NAME
    assert GoogleGemini("gemini-test", provider="vertex").name == "vertex:gemini-test"
