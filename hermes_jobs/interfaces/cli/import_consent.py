"""What imports would let the agent do here is listed, and a user accepts it before it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_jobs.client.brought_along import Brought
from hermes_jobs.interfaces.cli.output import note, one_line
from hermes_jobs.text.figures import pluralize

SHOWN = 10  # of a kind; the rest is counted
LONGEST = 200  # characters of a line's detail


def is_accepted(brought: Sequence[Brought], question: str, undone: str, *, yes: bool, anyway: bool) -> bool:
    """List it, and ask. Without anything there is no question.

    Raises a usage error without a terminal, unless `yes`, and `anyway` where a text is suspected.
    """
    import click

    from hermes_jobs.interfaces.cli.questions.confirmation import confirmed

    if not brought:
        return True
    suspected = [item for item in brought if item.suspected]
    note("This comes along, and would hold here:")
    for item in _shown(brought):
        note(f"  {item.what}: {one_line(item.detail)[:LONGEST]}")
    if yes and suspected and not anyway:
        number = pluralize(len(suspected), "text looks", "texts look")
        raise click.UsageError(f"{undone}: {number} like an attack on the agent. Add --anyway if not.")
    return confirmed(question, undone, yes=yes or anyway, default=False)


def _shown(brought: Sequence[Brought]) -> Iterator[Brought]:
    """Those that are shown: suspected ones first, a bounded number of each kind."""
    kinds: dict[tuple[bool, str], list[Brought]] = {}
    for item in sorted(brought, key=lambda item: not item.suspected):
        kinds.setdefault((item.suspected, item.what.split(" ")[0]), []).append(item)
    for (_, kind), items in kinds.items():
        yield from items[:SHOWN]
        if len(items) > SHOWN:
            yield Brought(what=kind, detail=f"… and {len(items) - SHOWN} more")
