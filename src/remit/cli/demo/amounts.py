"""Amounts of money as people write them: "150 euros", "€12,50", "twenty bucks", "half of it"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_NUMBER = r"\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,](?:\d{1,2}|-))?(?![\d])"
_CURRENCY = r"(?:€|\$|£|eur(?:o|os|oes|s)?\b|bucks?\b|quid\b|dollars?\b|usd\b|pounds?\b)"
_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(_UNITS.split())} | {
    word: 10 * number for number, word in enumerate(_TENS.split(), 2)
}
_WORD = rf"(?:{'|'.join(_WORDS)}|a\s+hundred|hundred)"
_SPELLED = rf"{_WORD}(?:[\s-]+(?:and\s+)?{_WORD})*"

MONEY = re.compile(
    rf"(?P<after>{_NUMBER})\s?{_CURRENCY}"
    rf"|(?:€|\$|£|eur\s)\s?(?P<before>{_NUMBER})"
    rf"|\b(?P<spelled>{_SPELLED})\s+{_CURRENCY}",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?:refund(?:ed|ing)?|reimburse|give|send|return)(?:\s+(?:me|us|of|the|just|only|my))*\s+"
    rf"(?P<one>{_NUMBER})(?=\s*(?:$|[.,!?;)]|back|for|on|from|of\b))"
    rf"|(?<![\w-])(?P<two>{_NUMBER})\s+back\b",
    re.IGNORECASE,
)
_LONE = re.compile(
    r"(?<![\w.,:@-])(?P<lone>\d+[.,]\d\d|\d{1,4})(?![\w%]|[.,:]\d)"
    r"(?=\s*(?:$|[.,!?;)]|and\b|pls\b|please\b|on\b|for\b))",
    re.IGNORECASE,
)
_PRICE = re.compile(
    r"\b(?:paid|pay|cost|costs|price|priced|worth|spent|bought|total(?:led)?(?:\s+of)?)\b"
    r"[^.!?;\d]{0,25}$",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(?P<number>\d{1,3})\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
_HALF = re.compile(r"\bhalf\b", re.IGNORECASE)
_ALL = re.compile(
    r"\b(?:full(?:y)?|whole|entire|complete(?:ly)?|everything|all of it|all the money|all back"
    r"|total amou?nt|in full|100\s?%)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sum:
    """An amount that is asked for: so many euros, or a share of the order's total."""

    euros: Decimal | None = None
    share: Decimal = Decimal(1)

    def of(self, total: Decimal) -> Decimal:
        """The sum on an order of `total`, in whole cents."""
        wanted = total * self.share if self.euros is None else self.euros
        return wanted.quantize(Decimal("0.01"))


def wanted(text: str) -> Sum | None:
    """The sum that `text` asks back; None where it names none. What something cost is not asked
    back; of several sums the one nearest to the asking counts."""
    found = [
        (_distance(text, start), euros)
        for start, end, euros in _sums(text)
        if not _PRICE.search(text[max(0, start - 40) : start])
    ]
    if found:
        return Sum(euros=min(found)[1])
    percent = _PERCENT.search(text)
    if percent and 0 < int(percent["number"]) < 100:
        return Sum(share=Decimal(percent["number"]) / 100)
    if _HALF.search(text):
        return Sum(share=Decimal("0.5"))
    if _ALL.search(text):
        return Sum()
    lone = [match["lone"] for match in _LONE.finditer(text)]
    return Sum(euros=number(lone[0])) if len(lone) == 1 else None


def spans(text: str) -> list[tuple[int, int]]:
    """Where sums of money stand in `text`."""
    return [match.span() for match in MONEY.finditer(text)]


def number(text: str) -> Decimal:
    """A number as people write it: both `1.250,00` and `1,250.00` are 1250."""
    text = re.sub(r"[' ]", "", text.removesuffix("-").rstrip(".,"))
    whole, mark, rest = text, "", ""
    last = max(text.rfind("."), text.rfind(","))
    if last >= 0 and len(text) - last - 1 <= 2:
        whole, mark, rest = text[:last], ".", text[last + 1 :]
    return Decimal(re.sub(r"[.,]", "", whole) + mark + rest)


def _sums(text: str) -> Iterator[tuple[int, int, Decimal]]:
    seen: list[tuple[int, int]] = []
    for match in MONEY.finditer(text):
        seen.append(match.span())
        spelled = match["spelled"]
        written = match["after"] or match["before"]
        yield *match.span(), number(written) if written else Decimal(_spelled(spelled))
    for match in _BARE.finditer(text):
        name = "one" if match["one"] else "two"
        start, end = match.span(name)
        if not any(first < end and start < last for first, last in seen):
            yield start, end, number(match[name])


def _spelled(words: str) -> int:
    total = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word == "hundred":
            total = max(total, 1) * 100
        else:
            total += _WORDS.get(word, 0)
    return total


def _distance(text: str, at: int) -> int:
    places = [match.start() for match in re.finditer(r"refund|back|reimburs", text)]
    return min((abs(place - at) for place in places), default=0)
