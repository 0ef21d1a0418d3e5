"""A docstring's text is the description; its sections describe the parameters."""

import functools
from typing import Annotated, Any

import pytest
from pydantic import Field

from remit.tools.context import ToolContext
from remit.tools.docstring import Described, describe
from remit.tools.tool import tool
from remit.values.errors import ConfigError


def test_all_text_before_the_first_section_is_the_description() -> None:
    assert describe(
        """Finds an order.

        Reads: everything.

        Note:
            It is slow.

        Args:
            number: Like A-1042,
                on two lines.
            limit (int, optional): At most: this many.

        Returns:
            The order.

        Not this.
        """
    ) == Described(
        "Finds an order.\n\nReads: everything.\n\nNote:\n    It is slow.",
        {"number": "Like A-1042,\non two lines.", "limit": "At most: this many."},
    )


@pytest.mark.parametrize(
    ("docstring", "text", "parameters"),
    [
        (None, "", {}),
        ("", "", {}),
        ("Does it.", "Does it.", {}),
        ("Does it.\n\n    Two lines.", "Does it.\n\nTwo lines.", {}),
        ("Does it.\n\n    Returns:\n        A thing.", "Does it.", {}),
        ("Does it.\n    Args:\n        x: One.", "Does it.", {"x": "One."}),
        (
            "Does it.\n\n    Args:\n        x: One.\n\n        y: Two.",
            "Does it.",
            {"x": "One.", "y": "Two."},
        ),
        (
            "D.\n\n    Arguments:\n        x: 1.\n    Keyword Args:\n        y: 2.",
            "D.",
            {"x": "1.", "y": "2."},
        ),
        ("Does it.\n\n    Args:\n    x: One.", "Does it.", {}),
        ("Does it.\n\n    Args:", "Does it.", {}),
        ("Sorts the args: all of them.", "Sorts the args: all of them.", {}),
    ],
)
def test_a_docstring_may_leave_things_out(
    docstring: str | None, text: str, parameters: dict[str, str]
) -> None:
    assert describe(docstring) == Described(text, parameters)


STYLES = {
    "google": """Finds an order.

    Of any year.

    Args:
        number (str): Like A-1042,
            on two lines.
        limit: At most: this many.

    Returns:
        The order.
    """,
    "numpy": """Finds an order.

    Of any year.

    Parameters
    ----------
    number : str
        Like A-1042,
        on two lines.
    limit : int, optional
        At most: this many.
    Returns
    -------
    str
        The order.
    """,
    "sphinx": """Finds an order.

    Of any year.

    :param str number: Like A-1042,
        on two lines.
    :param limit: At most: this many.
    :type limit: int
    :returns: The order.
    :rtype: str
    """,
}


@pytest.mark.parametrize("docstring", STYLES.values(), ids=STYLES)
def test_every_style_says_the_same(docstring: str) -> None:
    assert describe(docstring) == Described(
        "Finds an order.\n\nOf any year.",
        {"number": "Like A-1042,\non two lines.", "limit": "At most: this many."},
    )


@pytest.mark.parametrize(
    ("docstring", "text", "parameters"),
    [
        (
            "D.\n\nParameters\n---\na, b : int\n    Both.\n\nOther Parameters\n---\nc\n    C.",
            "D.",
            {"a": "Both.", "b": "Both.", "c": "C."},
        ),
        ("D.\n\nReturns\n-------\nstr\n    A thing.", "D.", {}),
        ("D.\n\nNotes\n-----\nSlow.", "D.\n\nNotes\n-----\nSlow.", {}),
        ("D.\n\nParameters\nand more.", "D.\n\nParameters\nand more.", {}),
        ("D.\n:raises KeyError: Where it is not there.", "D.", {}),
        ("D.\n:keyword a: A.\n:arg b: B.", "D.", {"a": "A.", "b": "B."}),
        ("Takes :param: and 12:30.", "Takes :param: and 12:30.", {}),
        ("D.\n\n:param", "D.\n\n:param", {}),
        ("D.\n\nArgs:\n    a: A.\n\n:param b: B.", "D.", {"a": "A."}),
    ],
)
def test_the_first_section_tells_the_style(
    docstring: str, text: str, parameters: dict[str, str]
) -> None:
    assert describe(docstring) == Described(text, parameters)


def test_a_docstring_that_describes_what_a_function_does_not_take_is_refused() -> None:
    def find(order: str, ctx: ToolContext[Any]) -> str:
        """Finds an order.

        Args:
            order: Its number.
            ctx: What is known of the call.
            custmer: Whose it is.
        """
        return order

    with pytest.raises(ConfigError, match=r"'find'.*'custmer'.*takes \(ctx, order\)"):
        tool(find)


def test_a_docstring_may_describe_what_is_filled_in_and_what_has_another_name() -> None:
    def find(base: str, order: Annotated[str, Field(alias="number")]) -> str:
        """Finds an order.

        Args:
            base: Where to look.
            number: Like A-1042.
        """
        return base + order

    made = tool(functools.partial(find, base="here"))
    assert made.schema["properties"]["number"]["description"] == "Like A-1042."
