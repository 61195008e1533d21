"""The verifications of what reviews saved: what they found, and what a person decides about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.rules.writes import preview
from hermes_jobs.features.replay.rules.experiment import Experiment, stream_of
from hermes_jobs.features.replay.rules.verification import NAMES
from hermes_jobs.features.replay.tables import select_verifications

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.memory.rules.entries import Entry
    from hermes_jobs.features.replay.events import LearnedKind
    from hermes_jobs.features.replay.tables import VerificationView
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.streams.decision import Decision


VerificationsBySubject = dict[tuple[str, str, str], "VerificationView"]


def verifications_of(engine: Engine, review: str) -> Iterator[Experiment]:
    """The verifications of a review's results; more than one if it was resumed."""
    for head in engine.log.streams(stream_of(f"{NAMES}{review}")):
        experiment = engine.state(head.stream)
        assert isinstance(experiment, Experiment), f"{head.stream} is not an experiment"
        if experiment.request is not None and experiment.request.review == review:
            yield experiment


def waiting_verifications(engine: Engine) -> Iterator[Experiment]:
    """The verifications that wait for the next day because the day's budget is used up."""
    now = engine.clock.now()
    later = (row.step.stream for row in engine.log.steps() if row.step.not_before > now)
    for stream in dict.fromkeys(candidate for candidate in later if candidate.startswith(stream_of(NAMES))):
        experiment = engine.state(stream)
        assert isinstance(experiment, Experiment), f"{stream} is not an experiment"
        if experiment.waiting is not None:
            yield experiment


def verifications_by_subject(application: Application) -> VerificationsBySubject:
    """The findings, by kind, name and review."""
    return {
        (verification.kind, verification.name, verification.review): verification
        for verification in application.views.read(select_verifications)
    }


def subject_of(application: Application, verification: VerificationView) -> str:
    """A short description."""
    if verification.kind == "skill":
        return f"skill {verification.name}"
    writes = application.memory.writes()
    event = writes[int(verification.name) - 1].event if int(verification.name) <= len(writes) else None
    return f"entry “{preview(str(getattr(event, 'content', '')))}”"


def decide(
    application: Application, review: str, numbers: Collection[int], *, keep: bool
) -> Sequence[VerificationView]:
    """Undo, or keep permanently, these writes of the review, all or none; no `numbers`: harmful and
    undecided ones. Raises `Rejected`."""
    from hermes_jobs.kernel.streams.streams import combine

    verifications = application.views.read(select_verifications, review)
    chosen = _chosen(verifications, numbers)
    if not chosen:
        raise Rejected(
            f"Nothing that review {review} saved is proposed to be undone.",
            kind="no_proposal",
            hint=f"hermes-jobs reviews show {review}",
        )
    application.memory.sync()
    application.skills.sync()
    changes = [_decision(application, item, keep=keep) for item in chosen]
    application.engine().change(combine(changes, all_or_none=True), f"reviews {'keep' if keep else 'apply'}")
    return chosen


def _chosen(
    verifications: Sequence[VerificationView], numbers: Collection[int]
) -> Sequence[VerificationView]:
    unknown = next((number for number in numbers if number > len(verifications)), None)
    if unknown is not None:
        hint = f"There are 1 to {len(verifications)}." if verifications else "Nothing was tested."
        raise Rejected(f"There is no number {unknown}.", kind="usage", hint=hint)
    if numbers:
        return [verifications[number - 1] for number in sorted(set(numbers))]
    return [verification for verification in verifications if verification.is_proposal]


def _decision(application: Application, item: VerificationView, *, keep: bool) -> Decision:
    from hermes_jobs.features.replay.rules import verification

    back = None if keep else _take_back(application, item)
    return verification.decide(stream_of(item.experiment), item.kind, item.name, "user", back)


def removed_elsewhere(application: Application, entries: Sequence[Entry]) -> list[Decision]:
    """The decisions about entries that the same append removes."""
    from hermes_jobs.features.replay.rules import verification
    from hermes_jobs.kernel.streams.decision import DecisionResult

    verifications = verifications_by_subject(application)
    verified = (verifications["memory", str(entry.version), entry.review] for entry in entries)
    return [
        verification.decide(
            stream_of(item.experiment), item.kind, item.name, "user", lambda load: DecisionResult()
        )
        for item in verified
    ]


def undone_elsewhere(
    application: Application, review: str, kind: LearnedKind, name: str, by: str = "user"
) -> list[Decision]:
    """The decisions about a review's write that the same append undoes; no `review`:
    none."""
    from hermes_jobs.features.replay.rules import verification

    experiments = verifications_of(application.engine(), review) if review else ()
    return [verification.undone(experiment.stream, kind, name, by) for experiment in experiments]


def _take_back(application: Application, verification: VerificationView) -> Decision:
    """The change that undoes the review's write."""
    from hermes_jobs.features.memory.rules.provenance import Undo
    from hermes_jobs.features.replay.verified_turns import taking_back_skill

    if verification.kind == "skill":
        return taking_back_skill(application.log, verification.name, verification.review)
    number = int(verification.name)
    return Undo(number, application.memory.writes()[number - 1].event)
