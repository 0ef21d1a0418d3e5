"""Where the demo plays: a folder with two databases, the runs' store and the shop's orders."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from remit.cli import address
from remit.cli.demo.orders import OrderBook
from remit.cli.models import Wanted
from remit.values.errors import ConfigError

_RUNS = "runs.db"
_ORDERS = "orders.db"


@dataclass(frozen=True, slots=True)
class Stage:
    """The folder, the address of the runs' store, the orders, and the model that is asked; rules
    where that is None."""

    folder: Path
    store: str
    orders: OrderBook
    model: Wanted | None = None

    def log(self, worker: str) -> Path:
        """Where a worker's complaints go."""
        return self.folder / f"worker-{worker.lower()}.log"


def build(folder: Path | None, model: Wanted | None = None) -> Stage:
    """Make the databases in `folder`, a fresh one unless told.

    Raises ConfigError where that cannot be, or where a demo has played already.
    """
    try:
        found = _fresh() if folder is None else _made(folder)
    except OSError as error:
        raise ConfigError(
            f"no folder for the demo ({error.strerror}: {error.filename}): give another --dir"
        ) from None
    orders = OrderBook(found / _ORDERS)
    orders.make()
    return Stage(found, address.of_file(found / _RUNS), orders, model)


def _fresh() -> Path:
    return Path(tempfile.mkdtemp(prefix="remit-demo-"))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_RUNS, _ORDERS):
        if (folder / name).exists():
            raise ConfigError(
                f"{folder / name} is there already: a demo begins with a folder of its own,"
                " give another --dir"
            )
    return folder.absolute()
