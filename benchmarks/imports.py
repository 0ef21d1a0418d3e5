"""What `import remit` costs, in fresh interpreters with their bytecode at hand."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable

Report = Callable[[str, str, str], None]


def run(report: Report) -> None:
    """Report the import of remit beside that of asyncio, from the same rounds."""
    rows = [(_milliseconds("remit"), _milliseconds("asyncio")) for _ in range(9)][1:]
    ours, theirs = (statistics.median(row[n] for row in rows) for n in (0, 1))
    report("import remit", f"{ours:.0f} ms (asyncio alone: {theirs:.0f})", "under 150 ms")


def _milliseconds(module: str) -> float:
    code = (
        "import time; t = time.process_time();"
        f" import {module}; print((time.process_time() - t) * 1000)"
    )
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return float(done.stdout)
