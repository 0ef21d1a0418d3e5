"""The runs that wait for a time, the earliest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from heapq import heapify, heappop, heappush
from itertools import count

from remit.store.memory.state import StoredRun

_Place = tuple[int, int, StoredRun]


class Dues:
    """Heaps of runs by program. A place that a run has left is dropped when it is come upon."""

    def __init__(self) -> None:
        self._places: defaultdict[str, list[_Place]] = defaultdict(list)
        self._turns = count()

    def add(self, run: StoredRun, due: int) -> None:
        """The run may be claimed from `due` on."""
        run.due, run.turn = due, next(self._turns)
        heappush(self._places[run.program], (run.due, run.turn, run))

    def find(
        self,
        programs: Collection[str],
        now: int,
        room: int,
        wanted: Callable[[StoredRun], bool],
    ) -> list[StoredRun]:
        """Up to `room` runs of `programs` that are due and `wanted`, the longest due first."""
        found: list[_Place] = []
        for program in dict.fromkeys(programs):
            places, rest, here = self._places.get(program, []), [], 0
            while places and places[0][0] <= now and here < room:
                place = heappop(places)
                if not _stands(place):
                    continue
                rest.append(place)
                if wanted(place[2]):
                    found.append(place)
                    here += 1
            for place in rest:
                heappush(places, place)
        return [run for _, _, run in sorted(found)[:room]]

    def next(self, programs: Collection[str], now: int) -> int | None:
        """The earliest time after `now` at which a run of `programs` will be due."""
        dues = []
        for program in dict.fromkeys(programs):
            places = self._places.get(program, [])
            places[:] = filter(_stands, places)
            heapify(places)
            dues += [due for due, _, _ in places if due > now]
        return min(dues, default=None)


def _stands(place: _Place) -> bool:
    due, turn, run = place
    return run.due == due and run.turn == turn
