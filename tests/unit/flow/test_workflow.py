"""A workflow is checked when it is made."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from remit import Workflow, WorkflowRun, workflow
from remit.errors import ConfigError


def test_a_bare_workflow_is_named_after_its_function() -> None:
    @workflow
    async def sell(run: WorkflowRun, input: Any) -> None: ...

    assert (sell.name, sell.version, sell.key) == ("sell", "1", "sell@1")
    assert isinstance(sell, Workflow)
    with pytest.raises(dataclasses.FrozenInstanceError):
        sell.name = "other"  # type: ignore[misc]  # that it cannot be set is the point


def test_a_workflow_of_something_else_is_refused() -> None:
    def plain(run: WorkflowRun, input: Any) -> None: ...

    async def lonely(run: WorkflowRun) -> None: ...

    async def greedy(run: WorkflowRun, input: Any, more: Any) -> None: ...

    async def named(*, run: WorkflowRun, input: Any) -> None: ...

    functions: list[Any] = [plain, lonely, greedy, named, 3]
    for function in functions:
        with pytest.raises(ConfigError, match=r"async def f\(run, input\)"):
            workflow(function)


@pytest.mark.parametrize("word", ["", "a b", "ä", "x" * 65, "a@1", 3])
def test_a_name_or_a_version_of_another_shape_is_refused(word: Any) -> None:
    async def sell(run: WorkflowRun, input: Any) -> None: ...

    with pytest.raises(ConfigError, match=r"name .* of a workflow"):
        workflow(name=word)(sell)
    with pytest.raises(ConfigError, match=r"version .* of a workflow"):
        workflow(version=word)(sell)


def test_types_that_cannot_be_checked_are_refused() -> None:
    class Odd:
        """Nothing that Pydantic knows."""

    async def takes(run: WorkflowRun, input: Odd) -> None: ...

    async def gives(run: WorkflowRun, input: Any) -> Odd:
        return Odd()

    async def missing(run: WorkflowRun, input: Any) -> None: ...

    missing.__annotations__["input"] = "Nowhere"
    with pytest.raises(ConfigError, match=r"its input: .* is no type that Pydantic can check"):
        workflow(takes)
    with pytest.raises(ConfigError, match=r"its output: .* is no type that Pydantic can check"):
        workflow(gives)
    with pytest.raises(ConfigError, match="its type Nowhere cannot be found"):
        workflow(missing)


def test_an_input_that_does_not_fit_is_refused_before_anything_runs() -> None:
    @workflow
    async def sell(run: WorkflowRun, input: int) -> None: ...

    @workflow
    async def plain(run: WorkflowRun, input: Any) -> None: ...

    assert sell.input(3).input == 3
    with pytest.raises(ConfigError, match="the input of workflow 'sell': it does not fit int"):
        sell.input("many")
    with pytest.raises(ConfigError, match="a set would not stay what it is: annotate it"):
        plain.input({1})
