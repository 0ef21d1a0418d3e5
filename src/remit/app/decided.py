"""Who was first to decide a call, or to answer a question, of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from remit.flow.view import waiting
from remit.host.client import already_decided
from remit.host.readers import facts_of
from remit.kernel.facts import Answered, AnyFact, Paused
from remit.kernel.interrupt import Answer, read_answer
from remit.store.protocol import Store
from remit.values.errors import AlreadyDecidedError
from remit.values.results import Pending, Question


async def first(store: Store, run: str, named: Collection[str]) -> AlreadyDecidedError | None:
    """The error that tells who was first with one of the calls and questions `named`, by their
    ids; None where each of them waits, or was never asked, or was left without an answer."""
    # A signal is let go of only once it is recorded: who reads it first misses no answer.
    signals = await store.signals(run)
    facts = [fact for _, fact in await facts_of(store, run)]
    given: dict[str, Answer | Answered] = {
        signal.key: read_answer(signal.answer) for signal in signals if signal.answer is not None
    }
    given |= recorded(facts)
    keys = _newest_keys(facts)
    for one in named:
        answer = given.get(keys.get(one, ""))
        if answer is not None:
            return already_decided(run, one, answer.by)
    return None


def recorded(facts: Sequence[AnyFact]) -> Mapping[str, Answered]:
    """The answers that the run has taken, by the keys of their questions."""
    return {fact.key: fact for fact in facts if isinstance(fact, Answered)}


def asked(facts: Sequence[AnyFact]) -> Mapping[str, Pending | Question]:
    """All calls and questions that the run ever waited with, by their keys, in order."""
    return {
        key: one
        for number, fact in enumerate(facts, 1)
        if isinstance(fact, Paused)
        for key, one in waiting([(number, fact)]).items()
    }


def _newest_keys(facts: Sequence[AnyFact]) -> Mapping[str, str]:
    """The key of each call's question; of a call that came into doubt, that of the doubt."""
    return {one.id: key for key, one in asked(facts).items()}
