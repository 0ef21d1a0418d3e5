"""Run a document's Python blocks, top to bottom, as one program: `run_blocks DOCUMENT [GIVEN]`.

`GIVEN` is a Python file run first in the same process; its names are there before the first
block, so that it can hand in what a reader would bring and put a stand-in where a model would be.
A block may await at its top level; all awaits of a document share one event loop.
"""

import ast
import asyncio
import inspect
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from tests.docs.markdown import Block, read

NOT_RUN = "no-run"


class UnexplainedNoRun(Exception):
    """A block marked no-run gives its reason on the same line."""


def runs(block: Block) -> bool:
    """Whether the block is to run; one that is not says why after `no-run`."""
    mark, _, reason = block.words.partition(" ")
    mark = mark.removesuffix(":")
    if mark == NOT_RUN and not reason.strip():
        raise UnexplainedNoRun(f"line {block.line - 1}: ```python no-run needs a reason after it")
    return mark != NOT_RUN


def compiled(path: Path, block: Block) -> CodeType:
    """The block's code, with the document's own line numbers."""
    tree = compile(
        block.source,
        str(path),
        "exec",
        flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    ast.increment_lineno(tree, block.line - 1)
    code = compile(tree, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    assert isinstance(code, CodeType)
    return code


def run(document: Path, given: Path | None) -> None:
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    if given is not None:
        names = runpy.run_path(str(given))
        module.__dict__.update({k: v for k, v in names.items() if not k.startswith("__")})
    blocks = [block for block in read(document).blocks if block.language == "python"]
    codes = [(compiled(document, block), runs(block)) for block in blocks]
    with asyncio.Runner() as runner:
        for code in (code for code, to_run in codes if to_run):
            result = eval(code, module.__dict__)
            if code.co_flags & inspect.CO_COROUTINE:
                runner.run(result)


def main(arguments: Sequence[str]) -> None:
    document, *given = (Path(argument) for argument in arguments)
    run(document, given[0] if given else None)


if __name__ == "__main__":
    main(sys.argv[1:])
