"""Reading Markdown just well enough to test it: fenced blocks, code spans, links and headings."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPENING = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
CODE_SPAN = re.compile(r"(`+)(?P<code>.+?)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(\s*<?(?P<target>[^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(?P<target>[^\s>]+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"(?P<name>[^\"]+)\"")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is the number of its first line inside the fence."""

    language: str
    words: str
    source: str
    line: int


@dataclass(frozen=True)
class Document:
    """A Markdown file's fenced blocks, and the prose that is left without them."""

    path: Path
    blocks: tuple[Block, ...]
    prose: str

    @property
    def code_spans(self) -> list[str]:
        return [found["code"] for found in CODE_SPAN.finditer(self.prose)]

    @property
    def links(self) -> list[str]:
        prose = CODE_SPAN.sub("", self.prose)
        return [found["target"] for form in (LINK, REFERENCE) for found in form.finditer(prose)]

    @property
    def anchors(self) -> set[str]:
        """The fragments a link may name, made from headings as GitHub makes them."""
        found = {match["name"] for match in ANCHOR.finditer(self.prose)}
        for heading in HEADING.finditer(self.prose):
            slug = slug_of(heading["title"])
            found.add(next(name for name in numbered(slug) if name not in found))
        return found


def slug_of(title: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def numbered(slug: str) -> Iterator[str]:
    yield slug
    number = 0
    while True:
        number += 1
        yield f"{slug}-{number}"


def read(path: Path) -> Document:
    """Split a file into blocks and prose; an unclosed fence runs to the end of the file."""
    blocks: list[Block] = []
    prose: list[str] = []
    lines = iter(enumerate(path.read_text().splitlines(), start=1))
    for number, line in lines:
        opening = OPENING.match(line)
        if opening is None:
            prose.append(line)
            continue
        closing = re.compile(rf" *{re.escape(opening['fence'])}{opening['fence'][0]}* *")
        inside = []
        for _, content in lines:
            if closing.fullmatch(content):
                break
            inside.append(content)
        language, _, words = opening["info"].strip().partition(" ")
        source = textwrap.dedent("\n".join(inside)) + "\n"
        blocks.append(Block(language, words.strip(), source, number + 1))
    return Document(path, tuple(blocks), "\n".join(prose))
