"""The provenance of a skill: its writes with author, review and turns; its uses and verifications."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.cli.format import AUTHORS
from hermes_jobs.features.replay.api import verifications_of
from hermes_jobs.features.replay.cli.verifications import finding_lines
from hermes_jobs.features.replay.tables import VerificationView, select_verifications
from hermes_jobs.features.reviews.tables import select_review
from hermes_jobs.features.skills.cli.format import WriteRow, origin_line, skill_writes, use_fields
from hermes_jobs.features.skills.rules.skill import stream_of
from hermes_jobs.features.skills.tables import SkillUse, select_skill_uses
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.output import note, one_line, print_fields, print_heading, print_text
from hermes_jobs.kernel import events as e


class EvidenceTurn(msgspec.Struct, frozen=True):
    """A turn, and the message in it: the user's, or for `delegated` turns that of the agent that asked a
    sub-agent; `unrelated`: it was only repeated for comparison."""

    turn: str
    text: str
    unrelated: bool = False
    delegated: bool = False


class WhyWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A write of a skill: the action, its author, and the person who kept it if it was held; the requesting
    `model`. `reason`: why its review was due. `turns`: those of its verification, else its turn of origin."""

    version: int
    at: str
    what: str
    author: str
    review: str | None
    reason: str
    turn: str | None
    model: str
    provisional: bool
    turns: tuple[EvidenceTurn, ...]
    tried_out: VerificationView | None
    by: str = ""
    kept_by: str = ""


class SkillWhy(msgspec.Struct, frozen=True, kw_only=True):
    """The provenance of a skill, its uses, and the command that undoes its last write."""

    name: str
    there: bool
    installed_from: str
    use: SkillUse
    writes: tuple[WhyWrite, ...]
    undo: str


def skill_why(application: Application, name: str, limit: int | None) -> SkillWhy:
    """The provenance, with the newest writes. Raises `Rejected`, kind `unknown_skill`."""
    skill = application.skills.preview().past(name)
    writes = skill_writes(application, name)
    events = {event.version: event.event for event in application.log.read(stream_of(name))}
    verified = application.views.read(select_verifications)
    verifications = {
        verification.review: verification
        for verification in verified
        if (verification.kind, verification.name) == ("skill", name)
    }
    rows = writes if limit is None else writes[-limit:]
    return SkillWhy(
        name=skill.name,
        there=skill.exists,
        installed_from=origin_line(skill.origin) if skill.origin is not None else "",
        use=application.views.read(select_skill_uses).get(name, SkillUse()),
        writes=tuple(_write(application, row, events[row.version], verifications) for row in rows),
        undo=f"hermes-jobs skills undo {name}" if skill.past else "",
    )


def _write(
    application: Application, row: WriteRow, event: e.Event, verifications: dict[str, VerificationView]
) -> WhyWrite:
    review = row.session if row.author == "review" else None
    evidence: e.Evidence | None = getattr(event, "evidence", None)
    return WhyWrite(
        version=row.version,
        at=row.at,
        what=row.description(),
        author=row.author,
        review=review,
        reason=_reason(application, review),
        turn=row.turn,
        model=_model(application, row.turn),
        provisional=getattr(event, "provisional", False),
        turns=tuple(_turns(application, row, review)),
        tried_out=verifications.get(review or ""),
        by=row.by,
        kept_by=evidence.confirmed if evidence is not None else "",
    )


def _reason(application: Application, review: str | None) -> str:
    try:
        return application.views.read(select_review, review).reason if review else ""
    except Rejected:  # its session was deleted
        return ""


def _model(application: Application, turn: str | None) -> str:
    try:
        return application.views.turn(turn).model if turn else ""
    except Rejected:
        return ""


def _turns(application: Application, row: WriteRow, review: str | None) -> Iterator[EvidenceTurn]:
    turns = [
        EvidenceTurn(turn.turn, _text(application, turn.turn), turn.unrelated)
        for experiment in (verifications_of(application.engine(), review) if review else ())
        for turn in (experiment.plan.turns if experiment.plan else ())
    ]
    after = (
        application.views.read(select_review, review).turn
        if review and not turns and _reason(application, review)
        else None
    )
    source = row.turn if review is None else after
    of_source = {"delegated": _is_delegated(application, source)} if source else {}
    yield from turns or ([EvidenceTurn(source, _text(application, source), **of_source)] if source else [])


def _is_delegated(application: Application, turn: str) -> bool:
    try:
        return application.views.session(application.views.turn(turn).session).place is not None
    except Rejected:
        return False


def _text(application: Application, turn: str) -> str:
    try:
        return application.views.turn(turn).text
    except Rejected:
        return ""


def print_why(reason: SkillWhy) -> None:
    """Print it for users."""
    print_fields(
        [
            ("Skill", reason.name + ("" if reason.there else " (removed since)")),
            ("Origin", reason.installed_from),
            *use_fields(reason.use),
        ]
    )
    for write in reason.writes:
        click.echo()
        author = write.by or AUTHORS.get(write.author, write.author)  # type: ignore[call-overload]
        kept = f", kept by {write.kept_by}" if write.kept_by else ""
        print_heading(f"{write.version}. {write.what}, {format_time(write.at)}, by {author}{kept}")
        if lines := [f"   {line}" for line in _lines(write)]:
            print_text("\n".join(lines))
    if reason.undo:
        note(f"To undo the last write: {reason.undo}")


def _lines(write: WhyWrite) -> Iterator[str]:
    model = f", by {write.model}" if write.model else ""
    if write.review is not None:
        reason = f" ({write.reason})" if write.reason else ""
        yield f"review {write.review}{reason}{model}"
    elif write.turn is not None:
        yield f"turn {write.turn}{model}"
    for turn in write.turns:
        if not turn.unrelated:
            said = "the agent asked its sub-agent" if turn.delegated else "you said"
            yield f"{said}: {one_line(turn.text)} (turn {turn.turn})"
    if write.provisional and write.review is not None:
        yield from finding_lines(write.review, write.tried_out)
