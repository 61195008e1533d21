"""The entries of both targets, as text and as JSON: where each is used, and why one is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.features.memory.rules.memory import OBSERVATION, TARGETS, chars, fill
from hermes_jobs.interfaces.cli.options import newest
from hermes_jobs.interfaces.cli.output import print_text
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hermes_jobs.features.memory.events import MemoryTarget
    from hermes_jobs.features.memory.rules.entries import Entry, Placement
    from hermes_jobs.interfaces.cli.context import CliContext

MAX_ENTRY_CHARS = 5_000  # characters of an entry
TITLES = {"user": "Who you are", "memory": "What the agent has noted"}


def print_changed(context: CliContext, *, as_json: bool) -> None:
    """Print the memory after a change, for scripts alone: a person has read what changed."""
    print_result(
        lambda: _memory_json(context, context.application.memory_places(), TARGETS, None),
        lambda: None,
        as_json=as_json,
    )


def print_contents(
    context: CliContext,
    places: Placement,
    target: MemoryTarget | None,
    limit: int | None = None,
    *,
    as_json: bool,
) -> None:
    """Print the entries of that target, or of both: at most `limit` of each, the newest."""
    targets = TARGETS if target is None else (target,)

    def print_text() -> None:
        marks = _marks(context, places)
        for number, shown_target in enumerate(reversed(targets)):
            most = context.application.memory_limits.of(shown_target)
            heading = f"{TITLES[shown_target]} [{fill(places.in_prompt(shown_target), most)}]"
            in_prompt = [entry for entry in places.prompt if entry.target == shown_target]
            _print_part(heading, in_prompt, places, limit, number, marks=marks)
        for heading, entries in _outside_prompts(places).items():
            if shown := [entry for entry in entries if entry.target in targets]:
                _print_part(heading, shown, places, limit, marks=marks)

    print_result(lambda: _memory_json(context, places, targets, limit), print_text, as_json=as_json)


def _outside_prompts(places: Placement) -> dict[str, Iterable[Entry]]:
    """The entries that prompts do not hold, by heading."""
    recalled = places.recalled
    return {
        "Recalled when a message is about it": [entry for entry in recalled if not entry.is_observation],
        "Observations of finished conversations, only recalled": [
            entry for entry in recalled if entry.is_observation
        ],
        "Left out": places.left_out,
    }


def _print_part(
    heading: str,
    entries: Sequence[Entry],
    places: Placement,
    limit: int | None,
    number: int = 1,
    *,
    marks: Mapping[int, str],
) -> None:
    blank = "\n" if number else ""
    click.echo(click.style(f"{blank}{heading}", bold=True))
    print_text(
        "\n".join(_line(entry, places, marks.get(entry.version, "")) for entry in newest(entries, limit))
        or "(nothing)"
    )


def _memory_json(
    context: CliContext, places: Placement, targets: Sequence[MemoryTarget], limit: int | None
) -> dict[str, Any]:
    from hermes_jobs.features.memory.rules.entries import in_order

    by_target: dict[str, Any] = {}
    marks = _marks(context, places)
    for target in targets:
        entries = [entry for entry in in_order(places) if entry.target == target]
        listed = newest(entries, limit)
        by_target[target] = {
            "entries": [entry.text for entry in listed],
            "chars": chars([entry.text for entry in entries]),
            "limit": context.application.memory_limits.of(target),
            "details": [_details(entry, places, marks.get(entry.version, "")) for entry in listed],
        }
        missing = [{"entry": entry.text, "why": why} for entry in entries if (why := _why_out(entry, places))]
        if missing:
            by_target[target]["left_out"] = missing
    return by_target


def _details(entry: Entry, places: Placement, verified: str) -> dict[str, Any]:
    """An entry for scripts. `place`: `prompt`, `recalled` or `left_out`. `provisional`: its mark,
    None if it has none."""
    where = "prompt" if entry in places.prompt else "recalled" if entry in places.recalled else "left_out"
    evidence = entry.evidence
    return {
        "entry": entry.text,
        "place": "left_out" if _why_out(entry, places) else where,
        "kind": entry.kind,
        "tags": list(entry.tags),
        "version": entry.version,
        "written_at": entry.written_at,
        "author": entry.author,
        "session": evidence.session if evidence else None,
        "turn": evidence.turn if evidence else None,
        "confirmations": entry.confirmations,
        "uses": entry.uses,
        "used_at": entry.used_at or None,
        "provisional": verified or None,
        "observed": entry.observed or None,
        "observed_in": list(entry.observed_in),
    }


def _why_out(entry: Entry, places: Placement) -> str:
    """Why no session gets the entry; empty for those in prompts or recall."""
    rule = places.prompt.get(entry)
    return f"the rule “{rule}”" if rule is not None else places.left_out.get(entry, "")


def _marks(context: CliContext, places: Placement) -> Mapping[int, str]:
    """The marks of provisional entries, by version."""
    from hermes_jobs.features.memory.rules.entries import in_order
    from hermes_jobs.features.replay.api import verifications_by_subject
    from hermes_jobs.features.replay.cli.verifications import mark_of

    provisional = [entry for entry in in_order(places) if entry.review]
    verifications = verifications_by_subject(context.application) if provisional else {}
    return {
        entry.version: mark
        for entry in provisional
        if (mark := mark_of(entry.review, verifications.get(("memory", str(entry.version), entry.review))))
    }


def _line(entry: Entry, places: Placement, verified: str) -> str:
    from hermes_jobs.features.memory.rules.entries import USUAL

    reason = _why_out(entry, places)
    mark = click.style(f"  (not in prompts: {reason})", fg="yellow") if reason else ""
    text = (
        entry.text
        if len(entry.text) <= MAX_ENTRY_CHARS
        else f"{entry.text[:MAX_ENTRY_CHARS]}… ({len(entry.text):,} characters)"
    )
    notes = [
        entry.kind if entry.kind != USUAL[entry.target] else "",
        entry.observed,
        *(f"#{tag}" for tag in entry.tags if not (entry.is_observation and tag == OBSERVATION)),
        f"confirmed {_times(entry.confirmations)}" if entry.confirmations else "",
        f"recalled {_times(entry.uses)}" if entry.uses else "",
        verified,
    ]
    message = ", ".join(note for note in notes if note)
    return f"- {_indented(text)}" + click.style(f"  ({message})", dim=True) * bool(message) + mark


def _times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count:,} times"


def _indented(entry: str) -> str:
    return entry.replace("\n", "\n  ")
