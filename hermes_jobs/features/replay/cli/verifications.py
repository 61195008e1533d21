"""Formats the results of verifications, and records users' decisions about them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.rules.writes import preview
from hermes_jobs.features.replay.tables import select_verifications
from hermes_jobs.interfaces.cli.output import note, one_line, print_heading, print_text
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.memory.rules.entries import Entry
    from hermes_jobs.features.replay.events import LearnedKind
    from hermes_jobs.features.replay.tables import VerificationView
    from hermes_jobs.kernel.streams.decision import Decision

NOT_YET = "not tested yet"
VerificationsBySubject = dict[tuple[str, str, str], "VerificationView"]


def verifications_by_subject(application: Application) -> VerificationsBySubject:
    """The findings, by kind, name and review."""
    return {
        (verification.kind, verification.name, verification.review): verification
        for verification in application.views.read(select_verifications)
    }


def mark_of(review: str, verification: VerificationView | None) -> str:
    """The mark of a review's write in lists; empty if it is not provisional any more."""
    if not review or (verification is not None and verification.is_settled):
        return ""
    if verification is None:
        return f"provisional: {NOT_YET}"
    return f"{'harmful' if verification.is_proposal else 'provisional'}: {one_line(verification.why)}"


def standing_of(verification: VerificationView) -> str:
    """The status, in a word or two."""
    if verification.keep is not None:
        return "kept by you" if verification.keep else "undone"
    return "provisional" if verification.standing == "open" else verification.standing


def figures_of(verification: VerificationView) -> str:
    """The comparison of the answers, in a line; empty if none was compared."""
    if not verification.pairs:
        return ""
    same = verification.pairs - verification.better - verification.worse - verification.unknown
    parts = [f"{verification.better} better", f"{verification.worse} worse", f"{same} the same"]
    parts += [f"{verification.unknown} unknown"] if verification.unknown else []
    tokens = f"{verification.tokens_with:,.0f} tokens with it, {verification.tokens_without:,.0f} without"
    return f"{pluralize(verification.pairs, 'comparison')}: {', '.join(parts)}; {tokens}"


def finding_lines(review: str, verification: VerificationView | None) -> Iterator[str]:
    """A thing's verification, with the commands that decide about it."""
    if verification is None:
        yield f"provisional: {NOT_YET} (hermes-jobs reviews show {review})"
        return
    yield f"tried out: {standing_of(verification)}, {one_line(verification.why)}"
    if figures_of(verification):
        yield f"{figures_of(verification)} (hermes-jobs experiments show {verification.experiment})"
    if verification.is_proposal:
        yield f"to take it back: hermes-jobs reviews apply {review}"
        yield f"to keep it: hermes-jobs reviews keep {review}"
    elif verification.standing == "open" and verification.keep is None:
        yield f"to keep it: hermes-jobs reviews show {review}, then reviews keep"
        if verification.pairs:
            yield f"to run the missing calls: hermes-jobs experiments run {verification.experiment}"


def print_findings(application: Application, verifications: Sequence[VerificationView]) -> None:
    """Print the findings on a review's writes, each with its number, and the commands that decide."""
    if not verifications:
        return
    click.echo()
    print_heading("Tried out")
    for number, verification in enumerate(verifications, start=1):
        lines = [
            f"{number}. {subject_of(application, verification)}",
            f"{standing_of(verification)}, {one_line(verification.why)}",
        ]
        print_text("\n   ".join([*lines, *filter(None, [figures_of(verification)])]))
    review = verifications[0].review
    if any(verification.is_proposal for verification in verifications):
        note(f"To undo what makes answers worse: hermes-jobs reviews apply {review}, or --only N")
        note(f"To keep it: hermes-jobs reviews keep {review}, or --only N")
    undecided = [
        verification
        for verification in verifications
        if verification.standing == "open" and verification.keep is None
    ]
    if undecided:
        note(f"To keep what is provisional: hermes-jobs reviews keep {review} --only N")
    for name in dict.fromkeys(verification.experiment for verification in undecided if verification.pairs):
        note(f"To run the missing calls: hermes-jobs experiments run {name}")


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
    from hermes_jobs.features.replay.rules.experiment import stream_of

    back = None if keep else _take_back(application, item)
    return verification.decide(stream_of(item.experiment), item.kind, item.name, "user", back)


def removed_elsewhere(application: Application, entries: Sequence[Entry]) -> list[Decision]:
    """The decisions about entries that the same append removes."""
    from hermes_jobs.features.replay.rules import verification
    from hermes_jobs.features.replay.rules.experiment import stream_of
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
    from hermes_jobs.features.replay.verifications import verifications_of

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
