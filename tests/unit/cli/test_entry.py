"""The way into `remit`: help, versions, what is missing, pipes that close and interrupts."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from remit.cli import main
from tests.unit.cli.stored import answered, paused, run_remit, store_in


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"remit {metadata.version('remit')}\n"


def test_without_a_command_the_help_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["demo"], ["runs"], ["runs", "approve"]], ids=str)
def test_help_is_plain_in_a_pipe(words: list[str], tmp_path: Path) -> None:
    done = run_remit(*words, "--help", folder=tmp_path)

    assert done.returncode == 0
    assert done.stdout.startswith("Usage: remit")
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [["--verison"], ["serve"], ["demo", "--dri", "x"]], ids=str)
def test_wrong_use_is_one_line_with_the_mend(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(words)

    told = capsys.readouterr()
    assert code == 2
    assert told.err.count("\n") == 1
    assert "--help" in told.err
    assert told.out == ""


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["typer", "rich"])
@pytest.mark.parametrize("words", [["--help"], ["demo"], ["runs", "list"]], ids=str)
def test_without_the_extra_it_says_what_to_install(
    missing: str, words: list[str], tmp_path: Path
) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"from remit.cli import main; sys.exit(main({words!r}))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert f"needs {missing}" in done.stderr
    assert "pip install '.[cli]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_importing_the_command_loads_nothing_of_the_extra() -> None:
    program = "import remit.cli, sys; print(*{'typer', 'rich', 'sqlite3'} & set(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "\n"


def test_a_pipe_that_closes_ends_it_without_a_word(tmp_path: Path) -> None:
    answered(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [sys.executable, "-m", "remit.cli", "runs", "list", "--store", store_in(tmp_path)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)

    assert done.returncode == 141
    assert done.stderr == ""


def said_to_a_terminal(*words: str, **environment: str) -> str:
    """What `remit` prints where stdout is a terminal."""
    controller, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "remit.cli", *words],
        stdout=terminal,
        stderr=subprocess.PIPE,
        check=False,
        timeout=50,
        env={**os.environ, "COLUMNS": "100", **environment},
    )
    os.close(terminal)
    said = b""
    try:
        while piece := os.read(controller, 65536):
            said += piece
    except OSError:
        pass  # Linux ends a terminal without a writer so.
    os.close(controller)
    return said.decode()


@pytest.mark.parametrize(
    ("environment", "colours"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False)],
    ids=["xterm", "dumb"],
)
@pytest.mark.slow
def test_a_terminal_gets_colours_if_it_can_show_them(
    environment: dict[str, str], colours: bool, tmp_path: Path
) -> None:
    run = paused(tmp_path)

    listed = said_to_a_terminal("runs", "list", "--store", store_in(tmp_path), **environment)
    shown = said_to_a_terminal("runs", "show", run, "--store", store_in(tmp_path), **environment)

    assert ("\x1b[" in listed, "\x1b[" in shown) == (colours, colours)
    assert run in listed
    assert 'pay(to="c_1", amount=1)' in shown


@pytest.mark.slow
def test_a_pipe_gets_no_colours_whatever_the_environment_says(tmp_path: Path) -> None:
    run = paused(tmp_path)

    for words in (["list"], ["show", run]):
        done = run_remit(
            "runs", *words, "--store", store_in(tmp_path), folder=tmp_path, FORCE_COLOR="1"
        )
        assert "\x1b" not in done.stdout
        assert done.stdout.isascii()


def test_what_the_terminals_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    answered(tmp_path)

    done = run_remit(
        *("demo", "--messages", "\u2026.jsonl"), folder=tmp_path, PYTHONIOENCODING="ascii"
    )

    assert done.returncode == 2
    assert "\\u2026.jsonl cannot be read" in done.stderr


@pytest.mark.slow
def test_an_interrupt_ends_the_demo_and_its_workers(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "remit.cli", "demo", "--json", "--dir", str(tmp_path / "demo")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    steps = (json.loads(line) for line in running.stdout)
    worker = next(step["pid"] for step in steps if step.get("step") == "worker")

    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=30)

    assert running.returncode == 130
    assert told == ""
    assert not is_alive(worker)


def is_alive(pid: int) -> bool:
    """Whether the process goes on, after a moment to be gone."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    return True
