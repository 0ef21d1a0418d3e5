"""How this command was called, so that what it tells people to type works as it stands."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from remit.cli import address


def program() -> str:
    """What to type for `remit` in the shell that this process was started from."""
    script = sys.argv[0]
    found = shutil.which("remit")
    if os.path.basename(script) != "remit" or not os.path.exists(script):
        return f"{shlex.quote(sys.executable)} -m remit.cli"
    if found and os.path.realpath(found) == os.path.realpath(script):
        return "remit"
    return shlex.quote(script)


def line(*words: str, store: str | None = None) -> str:
    """A whole command line, with the store's address unless it is found without it."""
    told = [] if store is None or address.is_default(store) else ["--store", store]
    return " ".join([program(), *(shlex.quote(word) for word in (*words, *told))])
