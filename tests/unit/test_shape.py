"""The source keeps the house's shape: short files, short functions, plain names."""

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "remit"
MODULES = sorted(SOURCE.rglob("*.py"))
FOLDERS = sorted({module.parent for module in MODULES})

LINES_A_FILE = 400
LINES_A_FUNCTION = 60
MODULES_A_FOLDER = 22
UNUSED_NAMES = {
    "base",
    "common",
    "data",
    "handle",
    "helper",
    "helpers",
    "info",
    "manager",
    "misc",
    "process",
    "util",
    "utils",
}


@cache
def text(module: Path) -> str:
    return module.read_text()


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(text(module))


def is_long(module: Path) -> object:
    lines = len(text(module).splitlines())
    return lines > LINES_A_FILE and lines


def has_long_functions(module: Path) -> object:
    return {
        f"{node.name} (line {node.lineno})": lines
        for node in ast.walk(tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LINES_A_FUNCTION
    }


def opens_without_a_sentence(module: Path) -> object:
    return bool(text(module).strip()) and not ast.get_docstring(tree(module))


def imports_for_types_alone(module: Path) -> object:
    return "TYPE_CHECKING" in text(module)


def leaves_something_for_later(module: Path) -> object:
    return re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", text(module))


def has_a_name_that_says_nothing(module: Path) -> object:
    parts = module.relative_to(SOURCE).with_suffix("").parts
    return {part.strip("_") for part in parts} & UNUSED_NAMES


def test_there_is_a_source_to_look_at() -> None:
    assert SOURCE / "__init__.py" in MODULES
    assert len(MODULES) > 1


@pytest.mark.parametrize(
    "fault",
    [
        is_long,
        has_long_functions,
        opens_without_a_sentence,
        imports_for_types_alone,
        leaves_something_for_later,
        has_a_name_that_says_nothing,
    ],
)
def test_no_file_is_at_fault(fault: Callable[[Path], object]) -> None:
    assert not {
        str(module.relative_to(SOURCE)): told for module in MODULES if (told := fault(module))
    }


def test_a_folder_is_small() -> None:
    sizes = {str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py"))) for folder in FOLDERS}
    assert not {folder: size for folder, size in sizes.items() if size > MODULES_A_FOLDER}
