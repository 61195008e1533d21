"""Notices at the next terminal, each once: learned entries, conflicts, and unattended
work.

A file in the home has the time of the last notices; piped turns do not change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.client.conflicts import conflicts
from hermes_jobs.features.deliveries import api as deliveries
from hermes_jobs.features.memory.events import MemoryAdded, MemoryRemoved, MemoryReplaced
from hermes_jobs.features.reviews.tables import select_reviews
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.output import cut, note, one_line
from hermes_jobs.kernel.feature import parts
from hermes_jobs.kernel.turns.reviews import SKILL_TOOL
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.client.unattended import Unattended
    from hermes_jobs.features.memory.memory_files import RecordedWrite
    from hermes_jobs.features.reviews.tables import ReviewView

MAX_SEARCHED = 20  # the newest turns and reviews that are searched for news
PERSON_SOURCES = frozenset({"cli", "chat"})  # sources of turns of the same user
MAX_LEARNED = 5  # lines
WORDS = 60  # columns of an entry, or of a schedule's name


def print_notices(context: CliContext, turn: str, *, terminal: bool) -> None:
    """Print conflicts since the turn before this one; on a terminal also the notices of `tell`."""
    for line in [*turn_notices(context, turn), *(tell(context) if terminal else ())]:
        note(line)


def turn_notices(context: CliContext, turn: str) -> list[str]:
    """Conflicts since the turn before this one, a line each; then entries left out of
    prompts."""
    application = context.application
    turns = application.views.turns(limit=MAX_SEARCHED)
    own = next((turn_view for turn_view in turns if turn_view.id == turn), None)
    if own is None:
        return []
    until, sources = own.submitted_at, PERSON_SOURCES if own.source in PERSON_SOURCES else {own.source}
    before = [
        turn_view.submitted_at for turn_view in turns if turn_view.id != turn and turn_view.source in sources
    ]
    since = max((moment for moment in before if moment <= until), default="")
    notices = conflicts(application.memory, application.skills, application.log, since, until)
    return [*notices, *_left_out(context)]


def tell(context: CliContext, open_lineage: str | None = None) -> list[str]:
    """Results of reviews and unattended work since the last notices, a line each, without the waiting turns
    of the conversation `open_lineage`.

    They are marked as shown. Off with `display.news`.
    """
    since, now = _last_notices_at(context), iso(context.application.clock.now())
    with suppress(OSError):  # shown again next time
        write_bytes(context.settings.paths.last_notice, now.encode(), durable=False)
    if not context.settings.display.news:
        return []
    learned = list(_learned(context, since))
    more = len(learned) - MAX_LEARNED
    if more > 0:
        learned[MAX_LEARNED:] = [f"And {more} more: hermes-jobs memory log, hermes-jobs reviews list"]
    if not since:
        return [*learned, *waiting_lines(context.application), *filter(None, [unread_notice(context)])]
    from hermes_jobs.client.unattended import select_unattended

    text = unattended_line(context.application.views.read(select_unattended, since, open_lineage or ""))
    return [*learned, *waiting_lines(context.application, since), *([f"Meanwhile: {text}"] if text else [])]


def tell_first(context: CliContext) -> list[str]:
    """The same where a person begins: also all that waits in features, however often it was told."""
    told = tell(context)
    if not context.settings.display.news:
        return told or list(filter(None, [unread_notice(context)]))
    waits = waiting_lines(context.application)
    told = [line for line in told if line not in waits]
    return [*(told or filter(None, [unread_notice(context)])), *waits]


def waiting_lines(application: Application, since: str = "") -> list[str]:
    """What waits in features for a person, a line each, if some of it is newer than that moment."""
    return [line for waiting in parts("waiting") if (line := waiting(application, since))]


def unread_notice(context: CliContext) -> str:
    """A note about unread answers; "" if there are none."""
    count = deliveries.unread(context.application)
    several = f"{count} unread answers" if count > 1 else "an unread answer"
    return f"You have {several}: hermes-jobs inbox read" if count else ""


def unattended_line(unattended: Unattended) -> str:
    """Unattended work in one line; empty for none."""
    parts = []
    if unattended.runs:
        failed = (
            f", {len(unattended.failed)} of them failed ({_names(unattended.failed)})"
            if unattended.failed
            else ""
        )
        parts.append(f"{pluralize(unattended.runs, 'scheduled run')}{failed}")
    if unattended.missed:
        parts.append(f"{pluralize(unattended.missed, 'scheduled run')} missed")
    if unattended.waiting:
        verb = "wait" if len(unattended.waiting) > 1 else "waits"
        ask = f"hermes-jobs turns show {unattended.waiting[0]}"
        parts.append(f"{pluralize(len(unattended.waiting), 'turn')} {verb} for your answer ({ask})")
    if unattended.harmful:
        verb = "make" if len(unattended.harmful) > 1 else "makes"
        show = f"hermes-jobs reviews show {unattended.harmful[0]}"
        parts.append(
            f"{pluralize(len(unattended.harmful), 'thing')} that was learned {verb} answers worse ({show})"
        )
    if unattended.undelivered:
        parts.append(f"{pluralize(unattended.undelivered, 'answer')} could not be delivered")
    if unattended.unread:
        parts.append(f"{pluralize(unattended.unread, 'unread answer')} (hermes-jobs inbox read)")
    return "; ".join(parts)


def _names(names: Sequence[str]) -> str:
    return ", ".join(cut(one_line(name), WORDS) for name in dict.fromkeys(names))


def _last_notices_at(context: CliContext) -> str:
    """The time of the last notices in this home, in the log's format; empty for never."""
    try:
        return context.settings.paths.last_notice.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _learned(context: CliContext, since: str) -> Iterator[str]:
    """The writes of reviews that ended since that time, with how to undo them."""
    application = context.application
    ended = reversed(application.views.read(select_reviews, limit=MAX_SEARCHED))
    reviews = [review for review in ended if review.ended_at and since < review.ended_at]
    writes = application.memory.writes() if any(review.saved for review in reviews) else ()
    for review in reviews:
        if review.kind == "curate" and review.saved:
            yield f"Proposed meanwhile: {review.saved} (hermes-jobs reviews show {review.id})"
        elif review.saved:
            saved = [*_entries(review, writes), *_skills(context, review)]
            yield from saved or [f"Learned meanwhile: {review.saved} (hermes-jobs reviews show {review.id})"]
        if review.status == "completed" and review.message and review.kind != "consolidate":
            yield review.message


def _entries(review: ReviewView, writes: Sequence[RecordedWrite]) -> Iterator[str]:
    for write in writes:
        if write.event.evidence is None or write.event.evidence.session != review.id:
            continue
        match write.event:
            case MemoryAdded(content=text):
                did, about = "Learned", text
            case MemoryReplaced(content=text):
                did, about = "Changed", text
            case MemoryRemoved(old=text):
                did, about = "Forgot", text
            case _:
                continue
        words = cut(one_line(about), WORDS)
        yield f"{did} meanwhile: “{words}” (take it back: hermes-jobs memory undo {write.version})"


def _skills(context: CliContext, review: ReviewView) -> Iterator[str]:
    """The skills that the review wrote, from the successful calls of its turn."""
    if review.work is None:
        return
    steps = context.application.views.turn(review.work).steps
    calls = (step.arguments for step in steps if step.name == SKILL_TOOL and step.outcome == "ok")
    for name in dict.fromkeys(filter(None, map(_skill_name, calls))):
        yield f"Learned meanwhile: the skill {name} (take it back: hermes-jobs skills undo {name})"


def _skill_name(arguments: str) -> str:
    try:
        name = msgspec.json.decode(arguments, type=dict[str, object]).get("name")
    except msgspec.MsgspecError:
        return ""
    return one_line(name) if isinstance(name, str) else ""


def _left_out(context: CliContext) -> Iterator[str]:
    from hermes_jobs.interfaces.cli.doctor.memory import memory

    for finding in memory(context.application):
        if finding.status != "ok":
            yield f"{finding.message}. {finding.hint}"
