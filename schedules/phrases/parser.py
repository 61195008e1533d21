"""Takes a sentence apart into when and what, or refuses it. No model, no clock: the moment is passed in."""

from __future__ import annotations

from datetime import UTC, datetime

from schedules.phrases.absence import absence
from schedules.phrases.exact import read_canonical, read_cron
from schedules.phrases.guards import check_after, check_before, check_rest
from schedules.phrases.intent import check_asks
from schedules.phrases.outcome import Refusal, Refused, Understood, absent, unknown
from schedules.phrases.scan import Cluster, scan
from schedules.phrases.selection import select
from schedules.phrases.task import task_of
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import POLITE
from schedules.phrases.zones import refuse_place

LONGEST = 10_000
"""Characters of a sentence that are looked through."""


def parse(sentence: str, now: datetime, zone: str) -> Understood | Refused:
    """When and what the sentence asks for, seen from `now`, in the IANA zone `zone` where it names no other.

    It may also be a bare timing, its canonical text, a cron expression or an ISO time; then there is no task.
    """
    try:
        return _parse(sentence.strip(), now.astimezone(UTC), zone)
    except Refusal as refusal:
        return refusal.refused
    except OverflowError:
        return Refused("impossible", "That is beyond the years that a date can hold.", "Name an earlier one.")


def _parse(text: str, now: datetime, zone: str) -> Understood:
    if not text:
        raise absent("The sentence is empty.", "Say what to do and when: 'Check my mail every day at 9'.")
    if len(text) > LONGEST:
        raise unknown(f"The sentence has more than {LONGEST} characters.", "Put the long part into a file.")
    exact = read_canonical(text, now, zone) or read_cron(text, now, zone)
    if exact is not None:
        return exact
    sentence = Sentence(text)
    found = scan(sentence)
    check_asks(sentence, found.used)
    if not found.used:
        raise absence(sentence, found)
    used, resolved = select(sentence, found, now, zone)
    task = task_of(sentence, used)
    if task is not None and resolved.draft.zone is not None:
        refuse_place(resolved.draft.zone)
    for cluster in used:
        check_before(sentence, cluster)
        task_before = _task_stands_before(sentence, used, cluster)
        check_after(sentence, cluster, resolved.draft, task_before=task_before)
    check_rest(sentence, used, resolved.draft)
    return Understood(resolved.timing, resolved.zone, task)


def _task_stands_before(sentence: Sentence, used: tuple[Cluster, ...], cluster: Cluster) -> bool:
    """Whether something to do is told before the cluster."""
    return any(
        sentence.kind(at) == "word" and sentence.text(at) not in POLITE
        for at in range(cluster.start)
        if not any(each.holds(at) for each in used)
    )
