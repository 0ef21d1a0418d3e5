"""Texts in which much comes again, as people and models write them, and which are no circles."""

from __future__ import annotations

import json

_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "October"]


def _table() -> str:
    head = "| month | orders | returned | note |\n| --- | ---: | ---: | --- |\n"
    rows = [f"| {month} | {n * 37} | 0 | - |\n" for n, month in enumerate(_MONTHS * 8)]
    return head + "".join(rows)


def _wide_table() -> str:
    line = "+" + ("-" * 40 + "+") * 12 + "\n"
    rows = [f"|{'':40}|{n:40}|" + (" " * 40 + "|") * 10 + "\n" for n in range(30)]
    return line + line.join(rows) + line


def _empty_rows() -> str:
    return "name,email,phone,city\n" + ",,,\n" * 90 + "Total,90,0,0\n" + "| | | |\n" * 90


def _zeros() -> str:
    row = "    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,\n"
    return "static const uint8_t blank[256] = {\n" + row * 32 + "};\n" + "A" * 900


def _identity() -> str:
    return json.dumps([[int(x == y) for x in range(40)] for y in range(40)])


def _code() -> str:
    case = """\
    def test_{n}(self) -> None:
        result = self.client.get("/orders/{n}")
        self.assertEqual(result.status_code, 200)
        self.assertEqual(result.json()["number"], {n})

"""
    return "class Orders(TestCase):\n" + "".join(case.format(n=n) for n in range(60))


def _branches() -> str:
    return "".join(f'    elif code == {n}:\n        return "error"\n' for n in range(200))


def _markup() -> str:
    cell = '<td class="cell"><span class="dot"></span></td>'
    return "<table>\n" + ("<tr>" + cell * 9 + "</tr>\n") * 6 + "</table>\n" + "<br>\n" * 60


def _todo() -> str:
    return "".join(f"- [ ] {verb} the {thing}\n" for verb in _MONTHS for thing in _MONTHS)


def _poem() -> str:
    refrain = (
        "And the river runs on, and the river runs on,\n"
        "to the sea, to the sea, till the daylight is gone.\n\n"
    )
    verses = [
        f"In {month} we came with our boats to the shore,\nwith a song for the {month} before,\n"
        for month in _MONTHS
    ]
    return refrain.join(verses) + refrain * 4 + "Na na na na, " * 60


def _log() -> str:
    beat = "INFO  scheduler  heartbeat ok, nothing to do\n"
    return beat * 30 + "".join(f"12:{n // 60:02}:{n % 60:02} {beat}" for n in range(200))


def _picture() -> str:
    sky = "." * 60 + "\n"
    return sky * 20 + "." * 28 + "/\\" + "." * 30 + "\n" + sky * 15 + "=" * 60 + "\n"


def _steps() -> str:
    step = "Then look at the result, compare it with the order and write it down.\n"
    return "".join(f"{n}. Open page {n}. {step}" for n in range(80))


def _sequence() -> str:
    return "MKV" + "QQQQQQQQQQ" * 12 + "LPA" + "GAGAGSGAAG" * 90 + "SY"


PLAIN = {
    "a table": _table(),
    "a wide table": _wide_table(),
    "empty rows": _empty_rows(),
    "zeros": _zeros(),
    "a matrix": _identity(),
    "tests": _code(),
    "branches": _branches(),
    "markup": _markup(),
    "a list of things to do": _todo(),
    "a poem with a refrain": _poem(),
    "a log": _log(),
    "a picture": _picture(),
    "numbered steps": _steps(),
    "a protein": _sequence(),
}
