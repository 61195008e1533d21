"""`hermes-jobs memory curate`: proposes removals and moves of entries, and applies or undoes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, numbers_option
from hermes_jobs.interfaces.cli.output import note, one_line
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.features.memory.rules.curation import MemoryProposal


@command(
    "curate",
    epilog=example("hermes-jobs memory curate --apply", "hermes-jobs memory curate --only 3"),
)
@click.option(
    "--apply",
    "every",
    is_flag=True,
    help="Apply all proposals; `contradicted` ones are questions, and are left out.",
)
@numbers_option("Apply only proposal N; repeatable.")
@click.option("--undo", is_flag=True, help="Undo everything that the last --apply or --only did.")
def curate(context: CliContext, every: bool, numbers: tuple[int, ...], undo: bool, as_json: Json) -> None:
    """Propose entries to remove, or to recall only.

    No model is called. It proposes entries that are duplicates, have expired, are contained in another one,
    or made answers worse when they were tested. Where a newer entry may contradict one, it asks. Nothing
    changes without --apply or --only.
    """
    if sum((every, bool(numbers), undo)) > 1:
        raise click.UsageError("--apply, --only and --undo exclude each other.")
    if undo:
        _undo(context, as_json=as_json)
        return
    places = context.application.memory_places
    if not every and not numbers:
        proposals = places.previewed_proposals()
        _proposals().print_list(list(enumerate(proposals, start=1)), as_json=as_json)
        if proposals and not as_json:
            _note_how(proposals)
            for review in sorted(
                {str(proposal.entry.review) for proposal in proposals if proposal.rule == "harmful"}
            ):
                note(f"To keep what is harmful: hermes-jobs reviews keep {review}")
        return
    version, proposals = places.proposed()
    _apply(context, _chosen(proposals, numbers), version, as_json=as_json)


def _note_how(proposals: Sequence[MemoryProposal]) -> None:
    """How to apply them. Questions are answered one by one."""
    questions = sum(proposal.rule == "contradicted" for proposal in proposals)
    if questions < len(proposals):
        note("To apply: hermes-jobs memory curate --apply, or --only N.")
    if questions:
        note("To answer a question with yes, and remove the older entry: hermes-jobs memory curate --only N")


def _chosen(proposals: Sequence[MemoryProposal], numbers: Sequence[int]) -> Sequence[MemoryProposal]:
    unknown = next((number for number in numbers if number > len(proposals)), None)
    if unknown is not None:
        hint = f"There are 1 to {len(proposals)}." if proposals else "There is none."
        raise Rejected(f"There is no proposal {unknown}.", kind="usage", hint=hint)
    if numbers:
        return [proposals[number - 1] for number in sorted(set(numbers))]
    return [proposal for proposal in proposals if proposal.rule != "contradicted"]


def _apply(context: CliContext, chosen: Sequence[MemoryProposal], version: int, *, as_json: bool) -> None:
    from hermes_jobs.features.memory.rules.curation import Curate
    from hermes_jobs.features.replay.api import removed_elsewhere
    from hermes_jobs.kernel.streams.streams import combine

    application = context.application
    change = Curate(chosen, version, application.ids.name("c"), "curator")
    harmful = [item.entry for item in chosen if item.rule == "harmful"]
    decided = removed_elsewhere(application, harmful) if harmful else []
    result = application.memory.change(combine([change, *decided], all_or_none=True), "memory curate")

    def print_text() -> None:
        note(f"Done: {str(result.answer).strip()}." if chosen else "There is nothing to apply.")
        if chosen:
            note("To undo: hermes-jobs memory curate --undo")

    print_result(lambda: [_as_object(item) for item in chosen], print_text, as_json=as_json)


def _undo(context: CliContext, *, as_json: bool) -> None:
    from hermes_jobs.features.memory.rules.curation import UndoCuration

    memory = context.application.memory
    memory.sync()
    result = memory.change(UndoCuration([write.event for write in memory.writes()]), "memory curate --undo")
    print_result(lambda: {"answer": result.answer}, lambda: note(str(result.answer)), as_json=as_json)


def _proposals() -> Resource[tuple[int, MemoryProposal]]:
    return Resource(
        (
            Column("N", lambda item: str(item[0]), right=True),
            Column("RULE", lambda item: item[1].rule),
            Column("ENTRY", lambda item: one_line(item[1].entry.text), is_main=True),
            Column("WHY", lambda item: one_line(item[1].why), rank=1),
        ),
        "There is nothing to propose.",
        lambda item: {"number": item[0], **_as_object(item[1])},
    )


def _as_object(proposal: MemoryProposal) -> dict[str, object]:
    return {
        "rule": proposal.rule,
        "entry": proposal.entry.text,
        "target": proposal.entry.target,
        "why": proposal.why,
        "other": proposal.other.text if proposal.other else None,
        "by_policy": proposal.is_safe,
    }
