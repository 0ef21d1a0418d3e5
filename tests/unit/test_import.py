"""`import remit` is cheap, and the names at its top are few."""

import json
import subprocess
import sys
from types import ModuleType

import remit

NAMES_AT_MOST = 26
LOADED_WHEN_NEEDED = {
    "anthropic",
    "google.genai",
    "jsonschema",
    "mcp",
    "openai",
    "psycopg",
    "pydantic",
    "redis",
    "rich",
    "sqlite3",
    "starlette",
    "typer",
    "uvicorn",
}


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after one statement."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = modules_after("import remit")

    assert "remit" in loaded
    assert not loaded & LOADED_WHEN_NEEDED


def test_a_heavy_module_would_be_noticed() -> None:
    assert "sqlite3" in modules_after("import sqlite3")


def names_of(package: ModuleType) -> list[str]:
    return list(getattr(package, "__all__", []))


def test_the_names_at_the_top_are_few_and_sorted() -> None:
    names = names_of(remit)

    assert len(names) <= NAMES_AT_MOST
    assert names == sorted(names)
    assert len(names) == len(set(names))


def test_every_name_at_the_top_can_be_imported() -> None:
    assert all(getattr(remit, name) is not None for name in names_of(remit))
