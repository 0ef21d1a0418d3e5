"""Every Python block of the documentation runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
GIVEN = Path(__file__).parent / "given"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROVIDER_KEYS = {"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"}


def given_for(document: Path) -> Path:
    """`README.md` is given `given/README.py`; `docs/how-to/x.md` is given `given/how_to/x.py`."""
    docs = ROOT / "docs"
    inside = document.relative_to(docs if document.is_relative_to(docs) else ROOT)
    return GIVEN / str(inside.with_suffix(".py")).replace("-", "_")


def run(document: Path, folder: Path, given: Path) -> subprocess.CompletedProcess[str]:
    """Run a document's blocks as one program in an empty folder, warnings as errors."""
    kept = {name: value for name, value in os.environ.items() if name not in PROVIDER_KEYS}
    return subprocess.run(
        [sys.executable, "-P", "-W", "error", "-m", "tests.docs.run_blocks", str(document)]
        + ([str(given)] if given.exists() else []),
        cwd=folder,
        env=kept | {"PYTHONPATH": str(ROOT), "REMIT_SIGNING_KEYS": "a-key-for-the-documentation"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_blocks_of_a_document_run(document: Path, tmp_path: Path) -> None:
    done = run(document, tmp_path, given_for(document))

    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_given_is_given_to_a_document() -> None:
    assert set(GIVEN.rglob("*.py")) <= {given_for(document) for document in DOCUMENTS}


def write(folder: Path, *blocks: str, info: str = "python") -> Path:
    document = folder / "document.md"
    document.write_text("".join(f"Text.\n\n```{info}\n{block}\n```\n\n" for block in blocks))
    return document


def test_blocks_share_names_and_one_event_loop(tmp_path: Path) -> None:
    document = write(
        tmp_path,
        "import asyncio\nloop = asyncio.get_running_loop()\nawait asyncio.sleep(0)",
        "assert not loop.is_closed()",
        "assert asyncio.get_running_loop() is loop\nawait asyncio.sleep(0)\nprint('reached')",
    )

    done = run(document, tmp_path, tmp_path / "none")

    assert done.stdout == "reached\n", done.stderr


def test_a_block_between_awaits_may_start_a_loop_of_its_own(tmp_path: Path) -> None:
    document = write(
        tmp_path,
        "import asyncio\nawait asyncio.sleep(0)",
        "asyncio.run(asyncio.sleep(0))",
        "await asyncio.sleep(0)\nprint('reached')",
    )

    assert run(document, tmp_path, tmp_path / "none").stdout == "reached\n"


def test_a_block_that_fails_is_named_by_its_line_in_the_document(tmp_path: Path) -> None:
    document = write(tmp_path, "orders = {}", "orders['A17']")

    done = run(document, tmp_path, tmp_path / "none")

    assert done.returncode != 0
    assert f'"{document}", line 10' in done.stderr
    assert "KeyError: 'A17'" in done.stderr


def test_given_names_are_there_before_the_first_block(tmp_path: Path) -> None:
    given = tmp_path / "given.py"
    given.write_text("orders = {'A17': 'sent'}\n")
    document = write(tmp_path, "print(orders['A17'])")

    assert run(document, tmp_path, given).stdout == "sent\n"


def test_a_document_has_keys_to_sign_with(tmp_path: Path) -> None:
    document = write(tmp_path, "import os\nassert os.environ['REMIT_SIGNING_KEYS']")

    assert run(document, tmp_path, tmp_path / "none").returncode == 0


def test_annotations_find_the_names_of_their_document(tmp_path: Path) -> None:
    document = write(
        tmp_path,
        "from __future__ import annotations\nfrom pydantic import BaseModel, RootModel\n"
        "class Order(BaseModel):\n    lines: list[Line]",
        "class Line(RootModel[int]):\n    pass",
        "print(Order(lines=[1]).model_dump_json())",
    )

    assert run(document, tmp_path, tmp_path / "none").stdout == '{"lines":[1]}\n'


def test_a_block_marked_no_run_is_compiled_and_not_run(tmp_path: Path) -> None:
    marked = "python no-run it would call a real provider"

    done = run(write(tmp_path, "raise SystemExit(3)", info=marked), tmp_path, tmp_path / "none")
    assert done.returncode == 0, done.stderr

    done = run(write(tmp_path, "def broken(:", info=marked), tmp_path, tmp_path / "none")
    assert "SyntaxError" in done.stderr


def test_no_run_needs_a_reason(tmp_path: Path) -> None:
    document = write(tmp_path, "pass", info="python no-run")

    assert "needs a reason" in run(document, tmp_path, tmp_path / "none").stderr


def test_a_warning_fails_the_document(tmp_path: Path) -> None:
    document = write(tmp_path, "import warnings\nwarnings.warn('old', DeprecationWarning)")

    assert run(document, tmp_path, tmp_path / "none").returncode != 0
