"""Where no skip is allowed, a skip is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = {
    "test_marked.py": """
import pytest

@pytest.mark.skip(reason="{reason}")
def test_marked():
    raise AssertionError
""",
    "test_called.py": """
import pytest

def test_called():
    pytest.skip("{reason}")
""",
    "test_whole_file.py": """
import pytest

pytest.skip("{reason}", allow_module_level=True)
""",
    "test_expected_to_fail.py": """
import pytest

@pytest.mark.xfail(reason="{reason}")
def test_expected_to_fail():
    raise AssertionError
""",
}


def closing_of(folder: Path, reason: str, no_skip: str) -> str:
    """What pytest says of three skips and an expected failure, with the project's hooks."""
    for name, test in TESTS.items():
        (folder / name).write_text(test.format(reason=reason))
    options = ["-q", "-c", os.devnull, "--rootdir", str(folder), "--continue-on-collection-errors"]
    plugins = ["-p", "no:cacheprovider", "-p", "tests.conftest"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *plugins, str(folder)],
        cwd=ROOT,
        env=os.environ | {"REMIT_NO_SKIP": no_skip},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_skip_fails_where_none_is_allowed(tmp_path: Path) -> None:
    said = closing_of(tmp_path, "no database", no_skip="1")

    assert said.count("skipped although REMIT_NO_SKIP=1: no database") >= 3
    assert "1 failed, 1 xfailed, 2 errors" in said


@pytest.mark.slow
def test_a_skip_is_a_skip_elsewhere(tmp_path: Path) -> None:
    assert "3 skipped, 1 xfailed" in closing_of(tmp_path, "no database", no_skip="")


@pytest.mark.slow
def test_what_no_install_step_could_bring_may_be_absent(tmp_path: Path) -> None:
    said = closing_of(tmp_path, "absent: the recordings", no_skip="1")

    assert "3 skipped, 1 xfailed" in said
