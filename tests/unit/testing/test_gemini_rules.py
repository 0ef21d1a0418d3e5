"""What Gemini refuses, rule by rule, with its own words."""

from __future__ import annotations

from typing import Any

import pytest

from remit.testing import RefusedError, check_gemini
from remit.testing.provider import sign, sign_call, sign_text
from remit.testing.provider.gemini_parts import UNSIGNED

OBJECT = {"type": "object", "properties": {}}
MARK = {"thoughtSignature": UNSIGNED}


def body(*contents: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"contents": list(contents) or [user("Hello")], **fields}


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}


def user(*parts: Any) -> dict[str, Any]:
    return content("user", *parts)


def model(*parts: Any) -> dict[str, Any]:
    return content("model", *parts)


def call(id: str | None = "a", name: str = "add", args: Any = None, **beside: Any) -> Any:
    held = {"name": name, "args": {} if args is None else args} | ({"id": id} if id else {})
    return {"functionCall": held} | beside


def result(id: str | None = "a", name: str = "add", response: Any = None) -> Any:
    held = {"name": name, "response": {"output": "3"} if response is None else response}
    return {"functionResponse": held | ({"id": id} if id else {})}


def tools(*names: str, schema: Any = OBJECT) -> list[dict[str, Any]]:
    declared = [{"name": n, "description": "d", "parametersJsonSchema": schema} for n in names]
    return [{"functionDeclarations": declared}]


def choice(**config: Any) -> dict[str, Any]:
    return {"functionCallingConfig": config}


HI = user("Hello")
SIGNED = call(args={"x": 1}, thoughtSignature=sign_call("add", {"x": 1}, "strict"))
THOUGHT = {"text": "hm", "thought": True, "thoughtSignature": sign("hm")}
TAKEN = [
    body(),
    body(HI, HI, model("One"), model("Two"), HI),
    body({"parts": [{"text": "Hello"}]}),
    body(HI, model(THOUGHT, "So: ", SIGNED, call("b")), user(result(), result("b"))),
    body(HI, model(call("a", **MARK), call("b")), user(result("b"), result("a")), user("On")),
    body(HI, model(call(None, **MARK)), user(result(None))),
    body(HI, model(call(), call("b")), user(result(), result("b")), HI),
    body(HI, model("Hi", {"text": "", "thoughtSignature": sign_text("strict")}), HI),
    body(HI, model({"text": "Hi", "thoughtSignature": sign_text("strict")}), HI),
    body(user({"inlineData": {"mimeType": "image/png", "data": "YQ=="}}, "See")),
    body(user({"fileData": {"fileUri": "https://files.example.com/a.pdf"}})),
    body(systemInstruction={"parts": [{"text": "Help."}]}, safetySettings=[]),
    body(tools=tools("add", "_3d"), toolConfig=choice(mode="ANY", allowedFunctionNames=["add"])),
    body(generationConfig={"maxOutputTokens": 1, "thinkingConfig": {"thinkingLevel": "LOW"}}),
    body(
        generationConfig={
            "responseMimeType": "application/json",
            "responseJsonSchema": {"$ref": "#/$defs/A", "$defs": {"A": OBJECT}},
        },
        tools=tools("add"),
    ),
]


@pytest.mark.parametrize("taken", TAKEN)
def test_what_gemini_takes_passes(taken: dict[str, Any]) -> None:
    check_gemini(taken)


COUNT = "number of function response parts is equal to the number of function call parts"
AFTER_USER = "function call turn comes immediately after a user turn"
AFTER_CALL = "function response turn comes immediately after a function call turn"
NAME = "Invalid function name"
REFUSED: list[tuple[dict[str, Any], str]] = [
    (body(user(float("nan"))), "Invalid JSON payload received"),
    (body(user("half \ud83d")), "Invalid JSON payload received"),
    (body(messages=[]), 'Unknown name "messages": Cannot find field.'),
    (body(model="gemini-test"), 'Unknown name "model"'),
    ({"contents": []}, "contents is not specified"),
    ({}, "contents is not specified"),
    (body("Hello"), "Invalid value at 'contents[0]'"),  # type: ignore[arg-type]
    (body(HI | {"name": "x"}), "Unknown name \"name\" at 'contents[0]'"),
    (body(content("assistant", "Hi")), "Please use a valid role: user, model."),
    (body(content("tool", result())), "Please use a valid role: user, model."),
    (body(user()), "contents[0].parts: contents.parts must not be empty."),
    (body({"role": "user"}), "contents.parts must not be empty."),
    (body(user(["x"])), "Invalid value at 'contents[0].parts[0]'"),
    (body(user({"type": "text", "text": "a"})), "Unknown name \"type\" at 'contents[0].parts[0]'"),
    (body(user({"inline_data": {}})), 'Unknown name "inline_data"'),
    (body(user({})), "required oneof field 'data' must have one initialized field"),
    (body(HI, model({"thought": True})), "required oneof field 'data'"),
    (body(user({"text": "a", "fileData": {"fileUri": "u"}})), "required oneof field 'data'"),
    (body(user({"text": 7})), "Invalid value at 'contents[0].parts[0].text'"),
    (body(user("")), "must have a text parameter"),
    (body(user(" \n")), "must have a text parameter"),
    (body(HI, model(""), HI), "must have a text parameter"),
    (body(user({"inlineData": {"mimeType": "image/png"}})), "inlineData.data: required field"),
    (body(user({"fileData": {"mimeType": "image/png"}})), "fileData.fileUri: required field"),
    (body(user({"inlineData": {"data": "YQ==", "url": "x"}})), 'Unknown name "url"'),
    (body(user(call())), "`functionCall` is not allowed in content with role 'user'"),
    (body(HI, model(result())), "`functionResponse` is not allowed in content with role 'model'"),
    (body(user({"text": "a", "thought": True})), "`thought` is not allowed"),
    (body(HI, model(call(name="3d", **MARK)), user(result(name="3d"))), NAME),
    (body(HI, model(call(name="a b", **MARK)), user(result(name="a b"))), NAME),
    (body(HI, model(call(name="x" * 65, **MARK)), user(result())), NAME),
    (body(HI, model(call(args=[1], **MARK)), user(result())), "functionCall.args'"),
    (body(HI, model(call(**MARK)), user(result(response="3"))), "functionResponse.response'"),
    (body(HI, model({"functionCall": {"name": "add", "arguments": {}}})), '"arguments"'),
    (body(HI, model(call(**MARK))), COUNT),
    (body(HI, model(call(**MARK)), HI), COUNT),
    (body(HI, model(call(**MARK), call("b")), user(result())), COUNT),
    (body(HI, model(call(**MARK)), user(result(), result("b"))), COUNT),
    (body(HI, model(call(**MARK), call("b")), user(result()), user(result("b"))), COUNT),
    (body(model(call(**MARK)), user(result())), AFTER_USER),
    (body(HI, model("Hi"), model(call(**MARK)), user(result())), AFTER_USER),
    (body(HI, user(result())), AFTER_CALL),
    (body(HI, model(call(**MARK)), user(result()), user(result())), AFTER_CALL),
    (body(HI, model(call(**MARK)), user(result("b"))), "name and id must match"),
    (body(HI, model(call(**MARK)), user(result(name="sum"))), "name and id must match"),
    (body(HI, model(call()), user(result())), "missing a thought_signature"),
    (body(HI, model(call(), call("b", **MARK)), user(result(), result("b"))), "position 1.0"),
    (
        body(HI, model(call()), user(result()), model(call("b", **MARK)), user(result("b"))),
        "position 1.0",
    ),
    (
        body(HI, model(SIGNED | {"functionCall": {"id": "a", "name": "add"}}), user(result())),
        "Thought signature is not valid at contents[1].parts[0].",
    ),
    (body(HI, model(THOUGHT | {"text": "changed"}, "Hi"), HI), "Thought signature is not valid"),
    (body(HI, model({"text": "Hi", "thoughtSignature": sign_text("other")}), HI), "is not valid"),
    (
        body(HI, model({"text": "", "thoughtSignature": sign_text("other")}, "Hi"), HI),
        "is not valid",
    ),
    (body(HI, model({"text": "Hi", "thoughtSignature": "a-b_"}), HI), "Base64 decoding failed"),
    (body(tools=tools("3d")), "Must start with a letter or an underscore"),
    (body(tools=tools("add", "add")), "Duplicate function declaration found: add"),
    (body(tools=tools("add", schema={"type": "array"})), "must describe an object"),
    (body(tools=tools("add", schema=OBJECT | {"required": "x"})), "not a valid JSON schema"),
    (body(tools=[{"functionDeclarations": [{"name": "a", "strict": True}]}]), '"strict"'),
    (body(toolConfig=choice(mode="AUTO")), "set without function_declarations"),
    (body(tools=tools("add"), toolConfig=choice(mode="required")), "function_calling_config.mode"),
    (
        body(tools=tools("add"), toolConfig=choice(mode="AUTO", allowedFunctionNames=["add"])),
        "only be set when the mode is ANY",
    ),
    (
        body(tools=tools("add"), toolConfig=choice(mode="ANY", allowedFunctionNames=["sum"])),
        "Function sum in allowed_function_names is not declared.",
    ),
    (body(systemInstruction={"parts": []}), "system_instruction.parts: contents.parts must not"),
    (body(systemInstruction={"parts": [{"text": ""}]}), "must have a text parameter"),
    (body(systemInstruction="Help."), "system_instruction.parts"),
    (body(generationConfig={"maxOutputTokens": 0}), "max_output_tokens must be positive."),
    (body(generationConfig={"max_tokens": 9}), "\"max_tokens\" at 'generation_config'"),
    (body(generationConfig={"thinkingConfig": {"effort": 1}}), "thinking_config"),
    (body(generationConfig=[]), "Invalid value at 'generation_config'"),
    (
        body(generationConfig={"responseJsonSchema": OBJECT}),
        "response mimetype is application/json",
    ),
    (
        body(
            generationConfig={
                "responseMimeType": "application/json",
                "responseJsonSchema": {"$ref": "#/$defs/A", "description": "d", "$defs": {}},
            }
        ),
        "$ref cannot be used with other fields",
    ),
    (
        body(
            generationConfig={
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "thing"},
            }
        ),
        "response_json_schema: not a valid JSON schema",
    ),
]


@pytest.mark.parametrize(("refused", "words"), REFUSED)
def test_what_gemini_refuses_is_refused_in_its_words(refused: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError) as caught:
        check_gemini(refused)

    assert words in caught.value.refusal.message
    assert caught.value.refusal.as_gemini()["error"] == {
        "code": 400,
        "message": caught.value.refusal.message,
        "status": "INVALID_ARGUMENT",
    }


def test_another_makers_signature_is_refused() -> None:
    asked = body(HI, model(SIGNED), user(result()))

    check_gemini(asked)
    with pytest.raises(RefusedError, match="Thought signature is not valid"):
        check_gemini(asked, maker="another")
