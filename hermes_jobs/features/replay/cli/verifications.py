"""The results of verifications as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.features.replay.api import subject_of
from hermes_jobs.interfaces.cli.output import note, one_line, print_heading, print_text
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.replay.tables import VerificationView

NOT_YET = "not tested yet"


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
