"""The source keeps the house's shape: short files, short functions, plain names."""

import ast
import re
from collections.abc import Iterator
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

per_module = pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(SOURCE)))
per_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: str(f.relative_to(SOURCE)))


def functions(module: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_there_is_a_source_to_look_at() -> None:
    assert SOURCE / "__init__.py" in MODULES
    assert len(MODULES) > 1


@per_module
def test_a_file_is_short(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= LINES_A_FILE


@per_module
def test_a_function_is_short(module: Path) -> None:
    long = {
        f"{node.name} (line {node.lineno})": lines
        for node in functions(module)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LINES_A_FUNCTION
    }
    assert not long


@per_module
def test_a_file_opens_with_a_sentence(module: Path) -> None:
    source = module.read_text()
    assert not source.strip() or ast.get_docstring(ast.parse(source))


@per_module
def test_nothing_is_imported_for_types_alone(module: Path) -> None:
    assert "TYPE_CHECKING" not in module.read_text()


@per_module
def test_nothing_is_left_for_later(module: Path) -> None:
    left = re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", module.read_text())
    assert not left


@per_module
def test_a_module_is_named_after_what_it_holds(module: Path) -> None:
    named = {part.strip("_") for part in module.relative_to(SOURCE).with_suffix("").parts}
    assert not named & UNUSED_NAMES


@per_folder
def test_a_folder_is_small(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) <= MODULES_A_FOLDER
