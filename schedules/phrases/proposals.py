"""Proposals of a model for sentences that the rules do not understand.

A proposal counts only where the rules read its timing, that timing agrees with every time, day and zone that
they find in the sentence, and its task consists of the sentence's own words.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Protocol

import msgspec

from schedules.phrases.agreement import disagreement, names_zone
from schedules.phrases.outcome import Refusal, Refused, Understood
from schedules.phrases.parser import parse
from schedules.phrases.scan import scan
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import WORDS, word_set
from schedules.phrases.zone_names import known_zones
from schedules.timing import Cron

ASKABLE = frozenset(["absent", "incomplete", "unknown"])
"""Kinds of refusals that a model may help with. What is ambiguous only the person can tell."""

_CHANGING = WORDS["changing_before"] | WORDS["changing_after"] | WORDS["condition"]
_CHANGING -= word_set("every each of / - ' to")

INSTRUCTIONS = """\
A person asks for something to be done at a time. Take the request apart into `timing`, `timezone` and `task`.
`timing`: when, in English, in one of these forms: 'every weekday at 09:00', 'every Monday and Thursday at
08:00 and 18:00', 'every 30 minutes', 'every hour from 09:00 to 17:00, every weekday', 'every 2 weeks on
Tuesday at 09:00', 'on the 1st and 15th of every month at 09:00', 'on the last Friday of every month at
16:00', 'every year on the 24th of December at 18:00', 'at 2026-12-24T18:00', 'in 2 hours'. Null where the
request does not say exactly when: add no time or day that it does not name, and leave out no exception.
`timezone`: an IANA name such as Europe/Berlin; null where the request names none.
`task`: the request's own words for what is to be done, in its language; null where it only says when.\
"""
"""The prompt for the model; the sentence, the moment and the zone are added to it."""


class TimingProposal(msgspec.Struct, frozen=True):
    """A model's reading of a sentence; also the schema of its answer."""

    timing: str | None
    timezone: str | None = None
    task: str | None = None


class Interpreter(Protocol):
    """Port: asks a model what a sentence means."""

    def propose(self, sentence: str, now: datetime, zone: str) -> TimingProposal | None:
        """The model's reading of the sentence, at that moment in that zone; None where it has none."""


def may_ask(refused: Refused) -> bool:
    """Whether a model may be asked about a sentence that was refused so."""
    return refused.kind in ASKABLE


def verify_proposal(
    sentence: str, refused: Refused, proposal: TimingProposal | None, now: datetime, zone: str
) -> Understood | Refused:
    """The proposal, read by the rules and compared with the sentence.

    `refused` is the answer of the rules for the sentence; it remains the answer where the proposal is wrong.
    """
    if proposal is None or proposal.timing is None or not may_ask(refused):
        return refused
    if proposal.timezone is not None and proposal.timezone.lower() not in known_zones():
        return _rejected(refused, f"the model named {proposal.timezone!r}, which is no time zone")
    name = zone if proposal.timezone is None else known_zones()[proposal.timezone.lower()]
    found = parse(proposal.timing, now, name)
    if isinstance(found, Refused):
        return _rejected(refused, f"the model proposed {proposal.timing!r}: {found.reason}")
    against = _against(sentence, proposal, found, zone)
    if against:
        return _rejected(refused, f"the model proposed {proposal.timing!r}, but {against}")
    return Understood(found.timing, found.zone, (proposal.task or "").strip() or None)


def _against(sentence: str, proposal: TimingProposal, found: Understood, zone: str) -> str:
    """What speaks against the proposal; empty where nothing does."""
    if found.task is not None or isinstance(found.timing, Cron):
        return "that is no plain timing"
    words = _unclaimed_words(sentence, proposal.task)
    if words is None:
        return "its task is not in the sentence's own words"
    if changing := sorted(set(words) & _CHANGING):
        return f"the sentence says {changing[0]!r}, which cannot be checked"
    if found.zone != zone and not names_zone(words, found.zone):
        return f"the sentence does not name {found.zone}"
    try:
        read = scan(Sentence(sentence))
    except Refusal as refusal:
        return refusal.refused.reason
    drafts = [draft for cluster in read.used for draft in cluster.drafts]
    if any(draft.zone and draft.zone.name != found.zone for draft in drafts):
        return "the sentence names another zone"
    return disagreement(words, drafts, found.timing, proposal.timing or "")


def _unclaimed_words(sentence: str, task: str | None) -> list[str] | None:
    """The sentence's words that are not the task's; None where the task has words of its own."""
    left = Counter(_words(sentence))
    left.subtract(_words(task or ""))
    if any(number < 0 for number in left.values()):
        return None
    return list(left.elements())


def _words(text: str) -> list[str]:
    return re.findall(r"\d+|[^\W\d_]+", text.casefold())


def _rejected(refused: Refused, why: str) -> Refused:
    return Refused(refused.kind, f"{refused.reason} A model was asked as well; {why}.", refused.proposal)
