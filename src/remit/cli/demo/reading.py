"""What a customer's message asks for, read by rules: orders, wishes and sums in messy language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Literal

from remit.cli.demo.amounts import Sum, spans, wanted

Wish = Literal["refund", "which_sum", "refund_status", "change", "where", "complaint", "nothing"]

_DASH = r"[-–—−_#/.]"  # noqa: RUF001  # people write all of these
_ORDER = re.compile(
    rf"\ba\s?{_DASH}\s?(?P<dashed>[\doO]{{4}})\b"
    r"|\ba(?P<joined>\d{4})\b"
    r"|\b(?-i:A)\s(?P<spaced>\d{4})\b"
    r"|\b(?:orders?|ordr|oder|number|numbers|nr|no|num)\b[.:]?\s*(?:is|was|numbers?|no\.?|nr\.?)?"
    r"\s*[#:(]*\s*(?:a\s?[-–]?\s?)?(?P<named>\d{4})\b"  # an en dash is meant
    r"|#\s?(?P<hashed>\d{4})\b",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"\s*(?:,|&|/|\+|and|und|or)\s*(?:also\s+)?#?\s?(?P<more>\d{4})\b", re.IGNORECASE
)
_BARE = re.compile(r"(?<![\w.,#-])(?!(?:19|20)\d\d)(?P<bare>\d{4})(?![\w-]|[.,]\d)")
_CLAUSE = re.compile(
    r"[.!?;\n]+\s+|,\s+|\s+(?:and|also|plus|but|then|btw|&)\s+(?=\S)", re.IGNORECASE
)

_JOINED = re.compile(r"[\s,.;:&/+#()]*(?:and|und|or|also|plus|order)?[\s#(]*", re.IGNORECASE)

_NEGATED = re.compile(
    r"\b(?:don'?t|dont|do not|not|no|without|never|didn'?t|didnt)\s+"
    r"(?:(?:want|need|asking|ask|for|a|any|the|my|like|looking|get|got|receive|received|seen|had"
    r"|expect|after|even)\s+){0,5}(?:refund\w*|money back)",
    re.IGNORECASE,
)
_REFUND_STATUS = re.compile(
    r"\b(?:(?:where|when)(?:'s|s)?(?:\s+(?:is|are|will|do|does|can|would|the|on))*|status of"
    r"|(?:still|waiting)(?:\s+(?:no|for|on))?|did(?:n'?t)? (?:you|i)|have(?:n'?t)? (?:you|i|got)"
    r"|(?:has|hasn'?t|is|isn'?t)(?=\s+(?:my|the|our)\b)|how long)\b"
    r"(?P<between>[^.!?;,]{0,25}?)\b(?:refund\w*|money back)"
    r"|\b(?:(?:was|were|been|why)\b[^.!?;,]{0,20}|you (?:only |just )?)\brefunded\b",
    re.IGNORECASE,
)
_ASKING = re.compile(r"\b(?:want|need|demand|give|please|pls|plz|can i|could i|id like)\b", re.I)
_REFUND = re.compile(
    r"\brefund\w*|\breimburs\w*|\bmoney\s?back\b|\bcash\s?back\b"
    r"|(?:money|cash|amount|price|half|everything|€|euros?|eur|bucks|quid|\d)\W[^.!?;]{0,20}\bback\b"
    r"(?!\s+to\b)|\bback\s+(?:my\s+)?(?:money|€|\d)|\breturn\w* (?:my |the )?money"
    r"|\b(?:give|send|pay|get|have)\b[^.!?;]{0,15}\bback\b[^.!?;]{0,25}"
    r"\b(?:money|amount|price|euros?|half|everything|\d)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:add?ress\w*|cancel\w*|exchange\w*|swap|change\w*|instead|send it to|return\w*)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"\b(?:where\w*|track\w*|arriv\w*|deliver\w*|ship\w*|parcel|package|packet|status|eta"
    r"|gets? here|not here|receiv\w*|still nothing|coming|turned up|show(?:ed|n)? up)\b",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"\b(?:broke\w*|damag\w*|torn|scratch\w*|wrong|soaked|wet|missing|defect\w*|leak\w*|crack\w*"
    r"|faulty|smashed|bent|doesn'?t work|not working)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(r"\b(?:thx|thanks?|thank you|cheers|great|love|awesome)\b", re.IGNORECASE)
_SHOP = re.compile(r"\b(?:order\w*|ordr|parcel|package|bought|purchase\w*|delivery)\b", re.I)
_EACH = re.compile(r"\b(?:each|both|every one|all of them)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OrderWish:
    """What is asked about one order; `sum` is set for a refund."""

    order: str
    wish: Wish
    sum: Sum | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message asks. `wish` is what it asks without naming an order; `polite` tells a
    thank-you from other talk, `asks` whether there is a question."""

    orders: tuple[OrderWish, ...]
    wish: Wish
    about_shop: bool
    polite: bool
    asks: bool


@dataclass(frozen=True, slots=True)
class Mention:
    """An order's number and where it stands."""

    number: str
    start: int
    end: int


def read(message: str) -> Reading:
    """Read a message. The same message always reads the same."""
    written = _spelled_right(message)
    mentions = _mentions(written)
    text = _masked(written, mentions)
    orders: dict[str, OrderWish] = {}
    for mention, segment, shared in _segments(text, mentions):
        found = _order_wish(mention.number, segment, text, shared=shared)
        known = orders.get(mention.number)
        if known is None or known.wish == "nothing" or found.wish == "refund":
            orders[mention.number] = found
    return Reading(
        orders=tuple(orders.values()),
        wish=_wish(text),
        about_shop=_SHOP.search(written) is not None,
        polite=_THANKS.search(text) is not None,
        asks="?" in text,
    )


def _order_wish(order: str, segment: str, text: str, *, shared: bool) -> OrderWish:
    """What is asked about an order, in its own stretch of the text; `shared` with others."""
    own = _wish(segment)
    each = _EACH.search(text) is not None
    if own == "refund":
        found = wanted(segment) or Sum()
        split = shared and found.euros is not None and not each
        return OrderWish(order, "which_sum") if split else OrderWish(order, "refund", found)
    named = wanted(segment)
    elliptic = own == "nothing" and named is not None and named.euros is not None
    if elliptic and _wish(text) == "refund":
        return OrderWish(order, "refund", named)
    if each and own in ("nothing", "complaint") and _wish(text) == "refund":
        return OrderWish(order, "refund", wanted(text) or Sum())
    return OrderWish(order, own)


def _wish(text: str) -> Wish:
    if _asks_refund(text):
        return "refund"
    if _status_of_refund(text):
        return "refund_status"
    kinds: list[tuple[Wish, re.Pattern[str]]] = [
        ("change", _CHANGE),
        ("where", _WHERE),
        ("complaint", _COMPLAINT),
    ]
    return next((wish for wish, pattern in kinds if pattern.search(text)), "nothing")


def _asks_refund(text: str) -> bool:
    """Whether any sentence asks for money, after those that refuse it or ask where it stays."""
    return any(
        _REFUND.search(sentence)
        and not _NEGATED.search(sentence)
        and not _status_of_refund(sentence)
        for sentence in re.split(r"[.!?;\n]+(?:\s+|$)|\s+but\s+", text)
    )


def _status_of_refund(text: str) -> bool:
    return any(
        not _ASKING.search(match["between"] or "") for match in _REFUND_STATUS.finditer(text)
    )


def _spelled_right(message: str) -> str:
    """`message` with the words that the rules turn on as the dictionary has them."""

    def mend(match: re.Match[str]) -> str:
        word = match[0]
        close = get_close_matches(word.lower(), ("refund", "refunded", "refunds"), 1, 0.75)
        return close[0] if close else word

    text = message.replace("’", "'")
    return re.sub(r"\b[rR][a-zA-Z]{3,8}\b", mend, text)


def _mentions(text: str) -> list[Mention]:
    money = spans(text)
    named = list(_named(text))
    known = {mention.number for mention in named}
    bare = [
        Mention(f"A-{match['bare']}", *match.span())
        for match in _BARE.finditer(text)
        if not any(start <= match.start() < end for start, end in money)
    ]
    named += [mention for mention in bare if not known or mention.number in known]
    found: list[Mention] = []
    for mention in sorted(named, key=lambda one: (one.start, -one.end)):
        if not found or mention.start >= found[-1].end:
            found.append(mention)
    return found


def _masked(text: str, mentions: list[Mention]) -> str:
    """`text` without the orders' numbers, every other character in its place."""
    for mention in mentions:
        text = text[: mention.start] + "@" * (mention.end - mention.start) + text[mention.end :]
    return text


def _named(text: str) -> Iterator[Mention]:
    for match in _ORDER.finditer(text):
        digits = next(group for group in match.groups() if group)
        yield Mention(f"A-{digits.upper().replace('O', '0')}", *match.span())
        end = match.end()
        while more := _ALSO.match(text, end):
            yield Mention(f"A-{more['more']}", *more.span("more"))
            end = more.end()


def _segments(text: str, mentions: list[Mention]) -> list[tuple[Mention, str, bool]]:
    """Each mention with the stretch of text that speaks of it, from the clause in which it
    stands to the clause of the next, and whether other orders share that stretch."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        joined = groups and _JOINED.fullmatch(text, groups[-1][-1].end, mention.start)
        if joined:
            groups[-1].append(mention)
        else:
            groups.append([mention])
    starts = [0]
    for group, following in pairwise(groups):
        end, next_ = group[-1].end, following[0].start
        cuts = [cut.end() for cut in _CLAUSE.finditer(text, end, next_ + 1)]
        starts.append(cuts[-1] if cuts else end)
    ends = [*starts[1:], len(text)]
    return [
        (mention, text[start:end], len({one.number for one in group}) > 1)
        for group, start, end in zip(groups, starts, ends, strict=False)
        for mention in group
    ]
