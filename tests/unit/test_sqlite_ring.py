"""A ring's sums are those of what lies in its window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit.store.money import MeterState
from remit.store.sqlite.money.ring import Ring

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(-(2**40), 2**40),
        st.integers(-(2**40), 2**40),
    )
)


@given(EVENTS, st.integers(1, 7), st.integers(1, 9))
def test_a_ring_sums_what_lies_in_its_window(
    events: list[tuple[int, int, int]], width: int, slots: int
) -> None:
    ring, at = Ring.empty(width, slots, 0), 0
    noted = []
    for later, spent, held in events:
        at += later
        ring.add(at, spent, held)
        ring = Ring.unpack(width, ring.head, ring.pack())
        noted.append((at // width, spent, held))

    window = [one for one in noted if one[0] > at // width - slots]
    assert ring.state == MeterState(sum(one[1] for one in window), sum(one[2] for one in window))


@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 100), st.integers(0, 100))
def test_what_is_late_goes_to_its_own_slot(width: int, slots: int, at: int, late: int) -> None:
    ring = Ring.empty(width, slots, at + late)

    ring.add(at, 5)

    assert ring.head == (at + late) // width
    covered = at // width > ring.head - slots
    assert ring.state == MeterState(5 if covered else 0, 0)
    ring.move((at // width + slots) * width)
    assert ring.state == MeterState(0, 0)
