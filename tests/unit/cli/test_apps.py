"""A module that fails when it is imported is told of in one line by every command of an app."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.cli import main

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("words", [["inventory"], ["runs", "list"], ["spend"]], ids=" ".join)
def test_a_module_that_fails_is_told_in_one_line(
    words: list[str], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"the_raising_{words[0]}"
    (tmp_path / f"{module}.py").write_text("raise ValueError('no\\nluck')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert main([*words, "--app", f"{module}:app"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{module}:app cannot be imported: ValueError: no luck; mend what" in told.err
    assert told.err.count("\n") == 1
