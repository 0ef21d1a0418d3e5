"""Texts that are calls, family by family, and texts that only speak of them."""

from __future__ import annotations

from typing import Final

TOOLS: Final = frozenset({"find_order", "refund"})
_JSON = '{"name": "find_order", "arguments": {"number": "A-1"}}'
_LIST = f"[{_JSON}]"
_WIDE = "\uff5c"
_LOW = "\u2581"

LEAKS: Final = {
    "tags": '<invoke name="find_order">\n<parameter name="number">A-1</parameter>\n</invoke>',
    "tags around": '<function_calls>\n<invoke name="refund">\n</invoke>\n</function_calls>',
    "tags of an unknown tool": '<invoke name="find">\n<parameter name="q">x</parameter>',
    "older tags": "<function_calls>\n<invoke>\n<tool_name>refund</tool_name>\n</invoke>",
    "older tags alone": "<invoke>\n<tool_name>refund</tool_name>\n</invoke>",
    "tags with a space": '<x:function_call name="refund">\n{}</x:function_call>',
    "a tag by itself": '<function_call name="refund" arguments="{}"/>',
    "json in a tag": f"<tool_call>\n{_JSON}\n</tool_call>",
    "json in a tag on one line": f"<tool_call>{_JSON}</tool_call>",
    "json in a cut tag": f"<tool_call>\n{_JSON}",
    "a list in a tag": f"<TOOLCALL>{_LIST}</TOOLCALL>",
    "json before a closing tag": f"{_JSON}\n</tool_call>",
    "an unknown tool in a tag": '<tool_call>{"name": "find", "arguments": {}}</tool_call>',
    "a function tag": "<function=find_order>\n<parameter=number>\nA-1\n</parameter>\n</function>",
    "a function tag with json": '<function=refund>{"order": "A-1"}</function>',
    "keys and values": "<tool_call>refund\n<arg_key>order</arg_key>\n<arg_value>A</arg_value>",
    "keys without a tag": "refund\n<arg_key>order</arg_key>\n<arg_value>A-1</arg_value>",
    "a tag named as the tool": "<find_order>\n<number>A-1</number>\n</find_order>",
    "python in a tag": '<tool_code>\nprint(api.refund(order="A-1"))\n</tool_code>',
    "a control token": f"<|tool_call|>{_LIST}",
    "a control token and python": '<|python_tag|>find_order.call(number="A-1")',
    "a control token, half": '<|tool_call>call:refund{order:<|"|>A<|"|>}<tool_call|>',
    "a section of tokens": "<|tool_calls_section_begin|><|tool_call_begin|>functions.refund:0",
    "a tail without its tokens": 'functions.refund:0{"order": "A-1"}',
    "a channel": '<|channel|>commentary to=functions.refund <|message|>{"order": "A-1"}',
    "a turn and a channel": "<|start|>assistant<|channel|>analysis<|message|>Refund it.",
    "a turn and a tag": f"<|im_start|>assistant\n<tool_call>\n{_JSON}",
    "wide tokens": f"<{_WIDE}tool{_LOW}calls{_LOW}begin{_WIDE}><{_WIDE}tool{_LOW}call",
    "wide tags": f'<{_WIDE}DSML{_WIDE}invoke name="refund">\n</{_WIDE}DSML{_WIDE}invoke>',
    "a mark in brackets": f"[TOOL_CALLS] {_LIST}",
    "a mark and a name": '[TOOL_CALLS]refund[ARGS]{"order": "A-1"}',
    "a pair of marks": f"[TOOL_REQUEST]{_JSON}[END_TOOL_REQUEST]",
    "a mark with arrows": '[TOOL_CALL]{tool => "refund", args => {--order "A-1"}}[/TOOL_CALL]',
    "a name in brackets": '[find_order]\n{"number": "A-1"}',
    "a transcript": '[Tool Call: refund (ID: t_1)]\nArguments: {"order": "A-1"}',
    "a transcript without brackets": 'Tool call: refund\nArguments: {"order": "A-1"}',
    "a list of calls": '[find_order(number="A-1"), refund(order="A-1", amount=1)]',
    "a call alone": 'find_order(number="A-1")',
    "a call of an api": 'print(default_api.find_order(number="A-1"))',
    "json": _JSON,
    "json in a list": _LIST,
    "json, twice": f"{_JSON}; {_JSON}",
    "json, cut": '{"type": "function", "function": {"name": "refund", "parameters": {"order": "A',
    "json with single quotes": "{'name': 'refund', 'arguments': {'order': 'A-1'}}",
    "json, the arguments first": '{"arguments": {"number": "A-1"}, "name": "find_order"}',
    "json as text": '{"name": "functions.refund", "arguments": "{}"}',
    "json of several": '{"tool_uses": [{"recipient_name": "functions.refund", "parameters": {}}]}',
    "json of a message": f'{{"role": "assistant", "content": null, "tool_calls": [{_JSON}]}}',
    "json with a word": f"functools{_LIST}",
    "json under a name": 'refund\n{"order": "A-1"}',
    "json under a header": '>>>refund\n{"order": "A-1"}',
    "json in a fence": f"```json\n{_JSON}\n```",
    "a tag in a fence": f"```xml\n<tool_call>\n{_JSON}\n</tool_call>\n```",
    "a fence of calls": '```tool_code\nfind_order(number="A-1")\n```',
    "a fence and its output": "```tool_code\nrefund()\n```\n```tool_output\nok\n```\nDone.",
    "a recipient": 'assistant to=functions.refund commentary json\n{"order": "A-1"}',
    "an action": 'Action: find_order\nAction Input: {"number": "A-1"}',
    "a thought": 'Thought: I look.\nIt is there.\nAction: refund\nAction Input: {"order": "A"}',
    "an action in brackets": "Action: find_order[A-1]",
    "an action in a fence": 'Action:\n```json\n{"action": "refund", "action_input": {}}\n```',
    "a call with braces": "call:refund{order:A-1}",
    "a closing tag": "</invoke>\n</function_calls>",
}

INSIDE: Final = {
    name: text
    for name, text in LEAKS.items()
    if text.startswith(("<", "[TOOL")) and name != "tags of an unknown tool"
}
"""Those that are calls wherever text stands."""

HARMLESS: Final = {
    "a tag in a sentence": "A call stands in <tool_call>...</tool_call>, on a line of its own.",
    "tags in a sentence": "They write <tool_call> and </tool_call> around each call.",
    "an unknown tool": (
        'As in <function name="f"><parameter name="p">1</parameter></function> there.'
    ),
    "a longer tag": '<tool_call-note>{"name": "x"}</tool_call-note>',
    "a token in a sentence": "The <|tool_call|> token begins a call.",
    "a quoted token": 'It begins with "<|tool_call|>" and then has JSON.',
    "a template's token": "A text ends with <|endoftext|> there.",
    "code": "`<tool_call>` begins it, and ``a ` and </invoke>`` too.",
    "code over two lines": "`[TOOL_CALLS]\n[{}]` is one.",
    "a fence": f"So:\n\n```xml\n<tool_call>\n{_JSON}\n</tool_call>\n```\n\nIt is parsed.",
    "a fence first": f"```json\n{_JSON}\n```\nis what such a model writes.",
    "a fence in a list": f"1. one\n2. ```json\n   {_JSON}\n   ```\n3. three",
    "a fence of waves": f"~~~\n<tool_call>{_JSON}\n~~~\nabove",
    "a fence of calls": (
        "They wrote\n```tool_code\nprint(default_api.refund())\n```\nin those days."
    ),
    "a fence that stays open": "As here:\n```python\nfind_order(number='A-1')\n</invoke>",
    "python": 'So:\n```python\nr = refund(order="A-1")\n```',
    "a quote": f"> <tool_call>{_JSON}</tool_call>\n\nis what it said.",
    "indented code": f"Like this:\n\n    <tool_call>{_JSON}\n\nand no other way.",
    "an example": f"Example:\n{_JSON}\nThat is a call.",
    "a tool's schema": '{"name": "refund", "parameters": {"type": "object", "properties": {}}}',
    "a tool's description": '{"name": "refund", "description": "Refunds", "parameters": {}}',
    "other json": '{"name": "Ann", "arguments": ["for", "against"]}',
    "settings": '{"refund": {"enabled": true}}',
    "a package": '{"name": "shop", "version": "1.0.0"}',
    "numbers": "[1, 2, 3]",
    "a link": "[find_order](https://shop.example/docs) says more",
    "a comprehension": "[find_order(number=n) for n in numbers]",
    "a call that is told": 'find_order(number="A-1") gives the order.',
    "a name": "refund takes an order and an amount.",
    "an envelope that is told": "to=functions.refund is a header.",
    "words": "the assistant said to=me and commentary",
    "part of a word": 'auto=functions.refund {"order": 1}',
    "minutes": "Action: Ann refunds it.\nAction: Ben calls.\nThought: none",
    "a thought": "Thought: I wonder.\n\nAction: go home.",
    "generics": "std::vector<tool_call> calls; Map<parameter, V> m; List<function<void()>> f;",
    "pipes": "let a = xs |> map f\nlet b = g <| h <| 3\nif a<|b| then",
    "comparisons": "a < b, c > d, [x], {y} and <z>",
    "a merge": "<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> main",
    "a template": "{% call(x) row(x) %}{{ x.name }}{% endcall %}",
    "a log": "[10:00:00] tool_call id=1 name=refund status=ok",
    "a table": "| tool | argument |\n|---|---|\n| refund | order |",
    "a table of wide bars": f"a{_WIDE}b{_WIDE}c\n1{_WIDE}2{_WIDE}3",
    "html": "<div class='tool'><p>1</p></div>",
    "xml": "<step>\n<function>sum</function>\n<parameter>x</parameter>\n</step>",
    "beginnings": "<",
    "an open bracket": "[TOO",
    "an open fence": "```",
    "half a word": "Tho",
    "surrogates": "\ud83d and <\ude00",
    "nothing": "",
}
