"""A docstring's text is the description; its Args describe the parameters."""

import pytest

from remit.tools.docstring import Described, describe


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
