"""The import contracts hold, and each of them would notice being broken."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

FLOORS = "Arrows point down, floor by floor"
AGENT = "The agent has never heard of a store"
MODELS = "The kernel has never heard of models"
PROTOCOL = "The kernel knows a store's protocol, records and money, and no store"
STORES = "Only store.connect and testing name a concrete store"
TESTING = "Nothing that ships runs on the testing package"
PYDANTIC = "Pydantic stays at the user's boundary"
CIRCLES = "No folder's modules import each other in a circle"


@dataclass(frozen=True)
class Fault:
    """One import that some contract forbids."""

    floor: str
    imports: str
    breaks: str

    def __str__(self) -> str:
        return f"{self.floor} -> {self.imports}"


FAULTS = [
    Fault("app", "cli", FLOORS),
    Fault("host", "app", FLOORS),
    Fault("agent", "app", FLOORS),
    Fault("agent", "host", FLOORS),
    Fault("host", "agent", FLOORS),
    Fault("flow", "agent", FLOORS),
    Fault("flow", "host", FLOORS),
    Fault("agent", "flow", FLOORS),
    Fault("host", "flow", FLOORS),
    Fault("kernel", "flow", FLOORS),
    Fault("kernel", "agent", FLOORS),
    Fault("kernel", "host", FLOORS),
    Fault("store", "kernel", FLOORS),
    Fault("models", "kernel", FLOORS),
    Fault("tools", "kernel", FLOORS),
    Fault("tools", "store", FLOORS),
    Fault("tools", "models", FLOORS),
    Fault("models", "tools", FLOORS),
    Fault("store", "models", FLOORS),
    Fault("values", "store", FLOORS),
    Fault("values", "kernel", FLOORS),
    Fault("agent", "store", AGENT),
    Fault("agent", "store.protocol", AGENT),
    Fault("kernel", "models", MODELS),
    Fault("kernel", "store.memory", PROTOCOL),
    Fault("kernel", "store.sqlite", PROTOCOL),
    Fault("kernel", "store.connect", PROTOCOL),
    Fault("host", "store.sqlite", STORES),
    Fault("host", "store.memory", STORES),
    Fault("host", "store.postgres", STORES),
    Fault("app", "store.memory", STORES),
    Fault("store/protocol", "store.sqlite", STORES),
    Fault("app", "testing", TESTING),
    Fault("models", "testing", TESTING),
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that a test may spoil."""
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path / "src" / "remit"


def lint(package: Path) -> tuple[bool, str]:
    """Whether import-linter is content with the copy, and what it says."""
    checkout = package.parents[1]
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


def a_module_of(package: Path, floor: str) -> Path:
    """Any module on the floor, made where the floor is still empty."""
    single = package / f"{floor}.py"
    inside = sorted((package / floor).glob("**/[!_]*.py"))
    module = single if single.exists() or not inside else inside[0]
    module.touch()
    return module


def dotted(package: Path, module: Path) -> str:
    return ".".join(module.relative_to(package.parent).with_suffix("").parts)


def add_import(module: Path, name: str) -> None:
    module.write_text(f"{module.read_text()}\nimport {name}\n")


def test_the_package_as_it_is_keeps_every_contract(package: Path) -> None:
    content, said = lint(package)

    assert content, said
    assert "8 kept, 0 broken" in said


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_forbidden_import_breaks_its_contract(package: Path, fault: Fault) -> None:
    module = a_module_of(package, fault.floor)
    if "." not in fault.imports:
        a_module_of(package, fault.imports)
    imported = f"remit.{fault.imports}"

    add_import(module, imported)

    content, said = lint(package)
    assert not content
    assert f"{fault.breaks} BROKEN" in said
    assert f"{dotted(package, module)} -> {imported} " in said


@pytest.mark.parametrize("floor", ["host", "kernel", "store", "values"])
def test_pydantic_below_the_boundary_breaks_its_contract(package: Path, floor: str) -> None:
    module = a_module_of(package, floor)

    add_import(module, "pydantic")

    content, said = lint(package)
    assert not content
    assert f"{PYDANTIC} BROKEN" in said
    assert f"{dotted(package, module)} -> pydantic " in said


def test_an_import_upwards_through_the_top_of_the_package_is_seen(package: Path) -> None:
    a_module_of(package, "app")
    add_import(package / "__init__.py", "remit.app")
    module = a_module_of(package, "kernel")

    add_import(module, "remit")

    content, said = lint(package)
    assert not content
    assert f"{FLOORS} BROKEN" in said
    assert f"{dotted(package, module)} -> remit " in said


def test_two_modules_of_a_folder_in_a_circle_break_a_contract(package: Path) -> None:
    one, other = sorted((package / "values").glob("[!_]*.py"))[:2]

    add_import(one, dotted(package, other))
    add_import(other, dotted(package, one))

    content, said = lint(package)
    assert not content
    assert f"{CIRCLES} BROKEN" in said
    assert one.stem in said
    assert other.stem in said


@pytest.mark.parametrize("name", ["attic.py", "attic/__init__.py"])
def test_a_module_on_no_floor_breaks_a_contract(package: Path, name: str) -> None:
    module = package / name
    module.parent.mkdir(exist_ok=True)

    module.touch()

    content, said = lint(package)
    assert not content
    assert f"{FLOORS} BROKEN" in said
    assert "- remit.attic" in said
