"""Files of messages: each bad line is told with its number and the mend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.cli import main
from remit.cli.demo.messages import CustomerMessage, of_file, shipped
from remit.errors import ConfigError

GOOD = '{"user": "u_1", "text": "hello"}'


def test_the_shipped_messages_are_some_twenty_with_ids_and_no_names() -> None:
    found = shipped()

    assert 18 <= len(found) <= 24
    assert len({one.id for one in found}) == len({one.user for one in found}) == len(found)


def test_lines_are_read_with_ids_by_their_number(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(f'\ufeff{GOOD}\r\n\n{{"id": "x", "user": "u_2", "text": "\\u2028é"}}\n')

    assert of_file(file) == [
        CustomerMessage("m_01", "u_1", "hello"),
        CustomerMessage("x", "u_2", "\u2028é"),
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("hello", "no JSON"),
        ('{"user": "u_1", "text": "hello"', "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('["u_1", "hello"]', "no JSON object"),
        ('{"user": "u_1"}', "text None says nothing"),
        ('{"user": "u_1", "text": "  "}', "says nothing"),
        ('{"user": "u_1", "text": 5}', "says nothing"),
        ('{"text": "hello"}', "user None is no id"),
        ('{"user": "a@example.org", "text": "hello"}', "is no id"),
        ('{"user": 5, "text": "hello"}', "user 5 is no id"),
        ('{"id": "", "user": "u_1", "text": "hello"}', "id '' is no id"),
        ('{"user": "u_1", "text": "hello", "order": "A-1"}', "'order' is no key"),
        ('{"id": "m_01", "user": "u_1", "text": "again"}', "stands on line 1 already"),
    ],
)
def test_a_bad_line_is_told_by_its_number(line: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(f"{GOOD}\n{line}\n")

    with pytest.raises(ConfigError, match=r"own\.jsonl, line 2: ") as caught:
        of_file(file)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "holds no message"), (b"\n \n", "holds no message"), (b"\xff\xfe", "not UTF-8")],
)
def test_a_file_without_messages_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=told):
        of_file(file)


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "own.jsonl"])
def test_the_command_tells_of_a_bad_file_before_anything_is_made(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.jsonl").write_text(json.dumps({"user": "u_1"}))

    code = main(["demo", "--messages", str(tmp_path / name), "--dir", str(tmp_path / "demo")])

    told = capsys.readouterr()
    assert code == 2
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert not (tmp_path / "demo").exists()


def test_a_folder_that_holds_a_demo_is_not_played_in_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "orders.db").touch()

    assert main(["demo", "--dir", str(tmp_path)]) == 2
    assert "give another --dir" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    assert main(["demo", "--dir", str(tmp_path / "file" / "demo")]) == 2
    assert "give another --dir" in capsys.readouterr().err
