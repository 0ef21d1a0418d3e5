"""Runs all benchmarks and prints one table. `--dir` names the folder for databases."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import (  # through the line above
    durable,
    imports,
    lasting,
    memory,
    postgres,
    streaming,
)

ALL = ["imports", "memory", "streaming", "durable", "postgres", "lasting"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help=f"some of {', '.join(ALL)}; all unless named")
    parser.add_argument("--dir", type=Path, help="a folder on the disk that is to be measured")
    chosen = parser.parse_args()
    which = chosen.only or ALL
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    if "imports" in which:
        imports.run(report)
    if "memory" in which:
        asyncio.run(memory.run(report))
    if "streaming" in which:
        asyncio.run(streaming.run(report))
    if "durable" in which:
        with tempfile.TemporaryDirectory(dir=chosen.dir) as folder:
            asyncio.run(durable.run(report, Path(folder)))
    if "postgres" in which:
        asyncio.run(postgres.run(report))
    if "lasting" in which:
        with tempfile.TemporaryDirectory(dir=chosen.dir) as folder:
            asyncio.run(lasting.run(report, Path(folder)))


def report(what: str, found: str, aim: str) -> None:
    """One line of the table."""
    print(f"{what:<55} {found}   [{aim}]", flush=True)


if __name__ == "__main__":
    main()
