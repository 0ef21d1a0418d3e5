"""`remit prices suggest`: what is printed is Python for people and JSON for programs."""

from __future__ import annotations

import json

import pytest

from remit import Pricing
from remit.cli import main

Captured = pytest.CaptureFixture[str]


def test_what_is_printed_can_be_pasted(capsys: Captured) -> None:
    assert main(["prices", "suggest", "anthropic:claude-opus-4-8"]) == 0

    told = capsys.readouterr().out
    assert eval(told, {"Pricing": Pricing}) == Pricing(
        input=5, output=25, cached_input="0.5", cache_write="6.25", cache_write_long=10
    )
    comments = [line for line in told.splitlines() if line.startswith("#")]
    assert "listed as anthropic:claude-opus-4-8" in comments[0]
    assert "by genai-prices" in comments[1]


def test_programs_read_exact_rates(capsys: Captured) -> None:
    assert main(["prices", "suggest", "gpt-5.1", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["v"], told["kind"], told["listed"]) == (1, "prices", "openai:gpt-5.1")
    assert told["pricing"] == {"input": "1.25", "output": "10", "cached_input": "0.125"}
    assert told["source"].startswith("genai-prices ")


def test_an_unknown_model_is_wrong_use_with_one_line(capsys: Captured) -> None:
    assert main(["prices", "suggest", "openai:gpt-5.11x"]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "close to it" in told.err
