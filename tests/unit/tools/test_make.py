"""A tool is made whole, or refused with a message that says the mend."""

import dataclasses
import functools
import inspect
import json
import math
import subprocess
import sys
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Annotated, Any, Self

import pytest
from pydantic import BaseModel, Field

from remit.tools.context import ToolContext
from remit.tools.tool import FunctionTool, Tool, tool
from remit.values.errors import ConfigError

OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def handler(args: dict[str, Any], ctx: ToolContext[Any]) -> str:
    return json.dumps(args)


def from_schema(**changes: Any) -> Tool:
    given: dict[str, Any] = {
        "name": "count",
        "description": "Counts.",
        "schema": OBJECT,
        "handler": handler,
    }
    return Tool(**(given | changes))


@tool
async def find_order(number: str, limit: int = 3) -> str:
    """Finds an order by its number: status, items, tracking.

    Args:
        number: Like A-1042.
    """
    return f"{number}:{limit}"


@tool(approval="always", needs=["payments:write"], timeout=timedelta(seconds=5))
def refund(order: str, ctx: ToolContext[None]) -> str:
    """Refunds an order."""
    return order + ctx.run_id


def test_name_description_and_schema_come_from_the_function() -> None:
    assert find_order.name == "find_order"
    assert find_order.description == "Finds an order by its number: status, items, tracking."
    assert find_order.schema == {
        "type": "object",
        "properties": {
            "number": {"type": "string", "description": "Like A-1042."},
            "limit": {"type": "integer", "default": 3},
        },
        "required": ["number"],
        "additionalProperties": False,
    }


async def test_an_async_tool_can_still_be_called_like_its_function() -> None:
    assert await find_order("A-1", limit=2) == "A-1:2"


def test_a_sync_tool_can_still_be_called_like_its_function() -> None:
    @tool
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    assert double(21) == 42
    assert isinstance(double, Tool)


def test_a_tool_shows_its_functions_signature_and_documentation() -> None:
    assert list(inspect.signature(find_order).parameters) == ["number", "limit"]
    assert inspect.getdoc(find_order) == inspect.getdoc(find_order.handler)


def test_options_are_kept_in_one_form() -> None:
    assert refund.needs == frozenset({"payments:write"})
    assert refund.seconds == 5.0
    assert find_order.seconds == 60.0
    assert find_order.max_result_chars == 50_000
    assert from_schema(timeout=None).seconds is None


def test_the_context_is_never_shown() -> None:
    assert list(refund.schema["properties"]) == ["order"]
    assert "ToolContext" not in json.dumps(refund.schema)


@pytest.mark.parametrize(
    "hint",
    [
        ToolContext,
        ToolContext[int],
        Annotated[ToolContext[int], "of the call"],
        ToolContext[int] | None,
        "ToolContext[int]",
    ],
)
def test_the_context_is_known_in_each_of_its_spellings(hint: Any) -> None:
    def look(order: str, c: Any = None) -> str:
        """Looks."""
        return order

    look.__annotations__["c"] = hint

    assert list(tool(look).schema["properties"]) == ["order"]


def test_a_changed_copy_is_checked_again() -> None:
    loud = dataclasses.replace(refund, name="loud", approval="never")

    assert (loud.name, loud.approval, loud.seconds) == ("loud", "never", 5.0)
    assert loud.check({"order": "A"}).order == "A"
    with pytest.raises(ConfigError, match="timeout"):
        dataclasses.replace(refund, timeout=-1)


def test_a_tools_schema_is_its_own() -> None:
    given: dict[str, Any] = {"type": "object", "properties": {}}
    made = from_schema(schema=given)
    given["properties"]["late"] = {"type": "string"}

    assert made.schema == {"type": "object", "properties": {}}


class Desk:
    """A place with orders."""

    def __init__(self, place: str) -> None:
        self.place = place

    def find(self, number: str) -> str:
        """Finds an order here."""
        return self.place + number

    async def __call__(self, number: str) -> str:
        """Asks the desk."""
        return self.place + number

    @tool
    @staticmethod
    def inner(number: str) -> str:
        """Under the static method."""
        return number

    @staticmethod
    @tool
    def outer(number: str) -> str:
        """Over the static method."""
        return number


def greet(name: str, word: str, mark: str = "!") -> str:
    """Greets."""
    return word + name + mark


def renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("made", "name", "description", "parameters"),
    [
        (tool(Desk("x").find), "find", "Finds an order here.", ["number"]),
        (tool(Desk("x"), name="desk"), "desk", "Asks the desk.", ["number"]),
        (Desk.inner, "inner", "Under the static method.", ["number"]),
        (Desk.outer, "outer", "Over the static method.", ["number"]),
        (tool(functools.partial(greet, "Ann")), "greet", "Greets.", ["word", "mark"]),
        (tool(functools.partial(greet, word="Hi")), "greet", "Greets.", ["name", "mark"]),
        (tool(renamed(greet)), "greet", "Greets.", ["name", "word", "mark"]),
        (tool(lambda: 1, name="one", description="One."), "one", "One.", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_kind_of_callable_makes_a_tool(
    made: FunctionTool[..., Any], name: str, description: str, parameters: list[str]
) -> None:
    assert made.name == name
    assert made.description == description
    assert list(made.schema["properties"]) == parameters


def test_a_callable_object_with_an_async_call_is_async() -> None:
    assert tool(Desk("x"), name="desk").is_async
    assert not tool(Desk("x").find).is_async


def test_what_a_partial_holds_cannot_be_sent_by_the_model() -> None:
    bound = tool(functools.partial(greet, word="Hi"))

    assert bound.call(bound.check({"name": "Ann"}), None) == "HiAnn!"  # type: ignore[arg-type]
    with pytest.raises(Exception, match="word"):
        bound.check({"name": "Ann", "word": "Bye"})


class Opaque:
    """A type that no schema can describe."""


def positional(user: int, /, field: str = "name") -> None:
    """P."""


def star(*values: int) -> None:
    """S."""


def double_star(a: int, **values: int) -> None:
    """D."""


def untyped(a) -> None:  # type: ignore[no-untyped-def]
    """U."""


def opaque(fine: int, order: Opaque) -> None:
    """O."""


def calls_back(done: Callable[[int], int]) -> None:
    """C."""


def itself(a: Self) -> None:  # type: ignore[misc]
    """I."""


def two_contexts(a: ToolContext[int], b: ToolContext[int]) -> None:
    """T."""


def underscored(_x: int) -> None:
    """U."""


def configured(model_config: int) -> None:
    """C."""


def yields(n: int) -> Iterator[int]:
    """Y."""
    yield n


async def yields_too(n: int) -> AsyncIterator[int]:
    """Y."""
    yield n


def method(self, number: str) -> str:  # type: ignore[no-untyped-def]
    """M."""
    return number


def unresolved(order: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """U."""


def undescribed(a: int) -> None:
    pass


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (positional, "'user'"),
        (star, r"\*values"),
        (double_star, r"\*\*values"),
        (untyped, "'a' has no type"),
        (opaque, "'order' of type .*Opaque"),
        (calls_back, "'done' of type"),
        (itself, "'a' of type"),
        (two_contexts, "a and b"),
        (underscored, "'_x'"),
        (configured, "'model_config'"),
        (yields, "yields"),
        (yields_too, "yields"),
        (method, "bound"),
        (unresolved, "'order'.*Nowhere.*type checker"),
        (undescribed, "docstring"),
        (Opaque, "from a function"),
        (classmethod(lambda cls: None), "from a function"),
        (find_order, "is a tool already"),
        (lambda: 1, "<lambda>"),
        (3, "from a function"),
        (functools.partial(print, "x"), "print"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_that_no_model_can_call_is_refused(function: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        tool(function)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": ""}, "tool name"),
        ({"name": "n" * 65}, "tool name"),
        ({"name": "a b"}, "tool name"),
        ({"name": "count\n"}, "tool name"),
        ({"name": "dеlete"}, "tool name"),  # noqa: RUF001
        ({"name": "ｄelete"}, "tool name"),  # noqa: RUF001
        ({"name": None}, "tool name"),
        ({"description": " \n"}, "description"),
        ({"description": None}, "description"),
        ({"schema": {"type": "array"}}, '"array"'),
        ({"schema": {}}, "describe an object"),
        ({"schema": True}, "a dict, not bool"),
        ({"schema": {"type": "object", "properties": {"a": {"type": "integr"}}}}, r"a\.type"),
        ({"schema": {"type": "object", "$ref": "https://example.com/s"}}, "leads nowhere"),
        ({"schema": OBJECT | {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "leads nowhere"),
        ({"schema": OBJECT | {"default": object()}}, "what JSON cannot"),
        ({"schema": OBJECT | {"$schema": []}}, "not a valid JSON Schema"),
        ({"schema": OBJECT | {"properties": {"n": {"pattern": "("}}}}, "pattern"),
        ({"handler": lambda args, ctx: None}, "async def"),
        ({"handler": undescribed}, "async def"),
        ({"approval": "sometimes"}, "sometimes"),
        ({"approval": True}, "True"),
        ({"approval": lambda: True}, "lambda args"),
        ({"approval": lambda a, b, c: True}, "lambda args"),
        ({"needs": "payments:write"}, "must be a set"),
        ({"needs": {""}}, "capability"),
        ({"needs": {"a b"}}, "capability"),
        ({"needs": [3]}, "capability"),
        ({"needs": [[]]}, "capability"),
        ({"needs": 3}, "must be a set"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1.0}, "timeout"),
        ({"timeout": math.nan}, "timeout"),
        ({"timeout": math.inf}, "timeout"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"timeout": "5"}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"max_result_chars": 0}, "max_result_chars"),
        ({"max_result_chars": 1.5}, "max_result_chars"),
        ({"max_result_chars": True}, "max_result_chars"),
        ({"returns": {"type": "integr"}}, "returns"),
        ({"returns": Opaque}, "returns"),
        ({"returns": "int | Nowhere"}, "returns"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
def test_a_wrong_option_is_refused_with_its_mend(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        from_schema(**changes)


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"tiemout.*timeout"):
        tool(tiemout=3)(greet)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["a", "A-1_z", "n" * 64])
def test_a_name_of_ascii_letters_digits_and_dashes_is_taken(name: str) -> None:
    assert from_schema(name=name).name == name


def test_parameters_may_be_called_like_attributes_of_a_model() -> None:
    @tool
    def odd(schema: str, json: int, copy: bool, dict: int, model_name: str, validate: int) -> str:
        """Takes odd names."""
        return f"{schema}{json}{copy}{dict}{model_name}{validate}"

    arguments = {"schema": "s", "json": 1, "copy": True, "dict": 2, "model_name": "m"}
    checked = odd.check(arguments | {"validate": 3})

    assert (checked.schema, checked.json, checked.copy) == ("s", 1, True)
    assert odd.call(checked, None) == "s1True2m3"  # type: ignore[arg-type]


def test_a_field_says_what_a_docstring_does_not() -> None:
    @tool
    def search(
        words: Annotated[str, Field(description="Its own.", max_length=3)],
        class_: Annotated[str, Field(alias="class")] = "any",
        top: int = Field(3, ge=1),
    ) -> str:
        """Searches.

        Args:
            words: The docstring's.
            class_: Of things.
        """
        return f"{words}{class_}{top}"

    properties = search.schema["properties"]
    assert properties["words"]["description"] == "Its own."
    assert properties["class"]["description"] == "Of things."
    assert properties["top"] == {"default": 3, "minimum": 1, "type": "integer"}
    checked = search.check({"words": "abc", "class": "x"})
    assert search.call(checked, None) == "abcx3"  # type: ignore[arg-type]


def test_a_default_that_json_cannot_show_is_left_out_and_used() -> None:
    marker: Any = Opaque()

    @tool
    def look(n: Annotated[int, "x"] = marker) -> bool:
        """Looks."""
        return n is marker

    assert "default" not in look.schema["properties"]["n"]
    assert look.call(look.check({}), None) is True  # type: ignore[arg-type]


def test_making_a_tool_module_costs_no_heavy_import() -> None:
    program = (
        "import sys, remit.tools.tool, remit.tools.execute, remit.tools.approval\n"
        "print({'pydantic', 'jsonschema', 'griffe'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_a_tool_without_sections_in_its_docstring_needs_no_griffe() -> None:
    program = (
        "import sys\nfrom remit.tools.tool import tool\n"
        "@tool\ndef f(a: int) -> int:\n    'Does.'\n    return a\n"
        "print('griffe' in sys.modules, 'jsonschema' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False False"


def test_a_schema_is_small() -> None:
    class Line(BaseModel):
        sku: str

    @tool
    def order(lines: list[Line]) -> None:
        """Orders."""

    assert "title" not in order.schema
    assert "title" not in order.schema["properties"]["lines"]
    assert typing.cast("dict[str, Any]", order.schema["$defs"]["Line"])["properties"] == {
        "sku": {"type": "string"}
    }


def test_what_happens_to_a_call_that_was_cut_is_one_of_two_things() -> None:
    assert (made("safe").repeat, made("ask").repeat) == ("safe", "ask")
    with pytest.raises(ConfigError, match="repeat"):
        made("never")


def made(repeat: Any) -> Tool:
    @tool(repeat=repeat)
    def pay() -> None:
        """Pays."""

    return pay
