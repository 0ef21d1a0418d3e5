"""What the documentation points at is there: files, headings and make targets."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import Document, read

ROOT = Path(__file__).parents[2]
FOLDERS = ["benchmarks", "clients", "docs", "examples", "src", "tests"]
DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(p for name in FOLDERS for p in (ROOT / name).rglob("*.md"))]
    if "node_modules" not in path.parts
)
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
SHELLS = {"", "bash", "console", "sh", "shell", "text"}

per_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def broken_links(document: Document, root: Path) -> list[str]:
    """The links inside `root` that lead to no file, or to no heading of a Markdown file."""
    return [
        link
        for link in document.links
        if not ELSEWHERE.match(link) and not leads(link, document, root)
    ]


def leads(link: str, document: Document, root: Path) -> bool:
    name, _, anchor = link.partition("#")
    target = (document.path.parent / name).resolve() if name else document.path.resolve()
    if not target.exists() or not target.is_relative_to(root.resolve()):
        return False
    if not anchor or target.suffix != ".md":
        return True
    return anchor in read(target).anchors


def commands(document: Document) -> Iterator[str]:
    yield from document.code_spans
    for block in document.blocks:
        if block.language in SHELLS:
            yield from block.source.splitlines()


def made(document: Document) -> set[str]:
    """The targets of the `make` commands that a document shows."""
    targets: set[str] = set()
    for command in commands(document):
        found = re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S* )*make (?P<rest>[^#&|;<>]*)", command)
        if found:
            words = shlex.split(found["rest"])
            targets |= {word for word in words if "=" not in word and not word.startswith("-")}
    return targets


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@per_document
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    assert not broken_links(read(document), ROOT)


@per_document
def test_every_make_target_that_is_mentioned_exists(document: Path) -> None:
    assert not made(read(document)) - make_targets()


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# One `word`, and [a link](x.md)\n\n# Twice\n\n# Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](gone.md) [c](other.md#one-word-and-a-link) [d](other.md#two)\n"
        "[e](https://example.org) [f](#here) [g](other.md#twice-1) [h](../page.md)\n"
        "`[i](gone.md)` ![j](gone.png)\n\n[k]: gone.txt\n\n```md\n[l](gone.md)\n```\n\n# Here\n"
    )

    assert broken_links(read(page), tmp_path) == [
        "gone.md",
        "other.md#two",
        "../page.md",
        "gone.png",
        "gone.txt",
    ]


def test_make_targets_are_read_from_commands_and_not_from_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "We make sure; `make check` and `make test TEST=tests/unit` do.\n\n"
        "```sh\n$ PYTHON=python3.12 make demo  # half a minute\nmake -k lock bench && true\n```\n"
    )

    assert made(read(page)) == {"check", "test", "demo", "lock", "bench"}
