"""`hermes-jobs memory`: entries, their authors and origins, and undoing writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.domain.memory.memory import OBSERVATION, TARGETS, chars, fill
from hermes_jobs.domain.memory.writes import Operation
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.forget import forget_entry
from hermes_jobs.interfaces.cli.memory.curate import curate
from hermes_jobs.interfaces.cli.memory.embed import embed
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option, newest
from hermes_jobs.interfaces.cli.output import note, print_text
from hermes_jobs.interfaces.cli.param_types import ListedParam, NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.stdio import read_stdin
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.domain.decision import Decision
    from hermes_jobs.domain.events import MemoryClass, MemoryEvent, MemoryTarget
    from hermes_jobs.domain.memory.entries import Entry, Placement
    from hermes_jobs.eventlog.log import RecordedEvent

KINDS = ("identity", "episodic")
MAX_ENTRY_CHARS = 5_000  # characters of an entry
TITLES = {"user": "Who you are", "memory": "What the agent has noted"}


@click.group(epilog=example("hermes-jobs memory show", 'hermes-jobs memory add user "Prefers metric units"'))
def memory() -> None:
    """Show and change what the agent remembers; see who wrote it and why, and take it back.

    There are two targets: `user` (who you are) and `memory` (everything else). Both are files in the home,
    memories/USER.md and memories/MEMORY.md, which you may edit.
    """


@memory.command("show", epilog=example("hermes-jobs memory show user --json"))
@click.argument("target", type=click.Choice(TARGETS), required=False)
@limit_option("entries of each, the newest", default=None)
@json_option
@pass_context
def show(context: CliContext, target: MemoryTarget | None, limit: int | None, as_json: bool) -> None:
    """Show the entries, and which of them are in prompts.

    Entries that are only recalled, or left out, are listed with the reason. Prompts have room for
    `memory.memory_chars` and `memory.user_chars`; other entries are recalled when a message is about them.
    """
    _print(context, context.application.memory_places(), target, limit, as_json=as_json)


@memory.command(
    "add",
    options_metavar="[OPTIONS] [memory|user]",
    epilog=example(
        'hermes-jobs memory add user "Prefers metric units"', "hermes-jobs memory add - < note.txt"
    ),
)
@click.argument("words", metavar="TEXT", type=TextParam(), nargs=-1, required=True)
@click.option("-t", "--target", type=click.Choice(TARGETS), help="Target.  [default: memory]")
@click.option(
    "--kind", type=click.Choice(KINDS), help="identity: always in prompts; episodic: while there is room."
)
@click.option(
    "--tag",
    "tags",
    metavar="WORD",
    type=NonEmpty(),
    multiple=True,
    help="Tag, by which it is also found. Repeatable.",
)
@click.option("--anyway", is_flag=True, help="Add it although a scan rule matches; it goes into prompts.")
@json_option
@pass_context
def add(
    context: CliContext,
    words: tuple[str, ...],
    *,
    target: MemoryTarget | None,
    kind: MemoryClass | None,
    tags: tuple[str, ...],
    anyway: bool,
    as_json: bool,
) -> None:
    """Add an entry; `-` reads it from standard input.

    Text that looks like an instruction to the agent or like a secret is refused. If it is harmless, add it
    with --anyway; this also puts an existing entry into prompts that leave it out. For an existing entry,
    --kind and --tag change only its kind and tags.
    """
    chosen_target, (text,) = _arguments(words, target, ("TEXT",))
    content = read_stdin() if text == "-" else text
    operation = Operation(
        action="add", target=chosen_target or "memory", content=content, anyway=anyway, kind=kind, tags=tags
    )
    _write(context, operation, as_json=as_json)


@memory.command(
    "replace",
    options_metavar="[OPTIONS] [memory|user]",
    epilog=example('hermes-jobs memory replace "metric units" "Prefers imperial units"'),
)
@click.argument("words", metavar="OLD NEW", type=TextParam(), nargs=-1, required=True)
@click.option(
    "-t", "--target", type=click.Choice(TARGETS), help="Target.  [default: the one that contains OLD]"
)
@json_option
@pass_context
def replace(context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, as_json: bool) -> None:
    """Replace the one entry that contains OLD by NEW."""
    chosen_target, (old, new) = _arguments(words, target, ("OLD", "NEW"))
    where = chosen_target or _target_with(context, old)
    operation = Operation(action="replace", target=where, content=new, old_text=old)
    _write(context, operation, as_json=as_json)


@memory.command(
    "remove",
    options_metavar="[OPTIONS] [memory|user]",
    epilog=example('hermes-jobs memory remove "metric units"'),
)
@click.argument("words", metavar="OLD", type=TextParam(), nargs=-1, required=True)
@click.option(
    "-t", "--target", type=click.Choice(TARGETS), help="Target.  [default: the one that contains OLD]"
)
@json_option
@pass_context
def remove(context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, as_json: bool) -> None:
    """Remove the one entry that contains OLD."""
    chosen_target, (old,) = _arguments(words, target, ("OLD",))
    where = chosen_target or _target_with(context, old)
    _write(context, Operation(action="remove", target=where, old_text=old), as_json=as_json)


@memory.command("log", epilog=example("hermes-jobs memory log -n 5"))
@limit_option("writes, newest first")
@json_option
@pass_context
def log(context: CliContext, limit: int, as_json: bool) -> None:
    """List all writes: author, time and turn."""
    from hermes_jobs.interfaces.cli.memory.format import memory_writes

    home = context.application.memory
    undone = home.sync().undone
    writes = home.writes()[::-1][:limit]
    memory_writes(undone, _forgotten(context)).print_list(writes, as_json=as_json)


@memory.command("undo", epilog=example("hermes-jobs memory log", "hermes-jobs memory undo 7"))
@click.argument("number", metavar="N", type=ListedParam("hermes-jobs memory log"))
@json_option
@pass_context
def undo(context: CliContext, number: int, as_json: bool) -> None:
    """Undo write N of `memory log`.

    The undo is a new write, which can be undone, too.
    """
    from hermes_jobs.domain.memory.provenance import Undo
    from hermes_jobs.domain.streams import combine
    from hermes_jobs.interfaces.cli.memory.format import removal_note

    application = context.application
    application.memory.sync()
    writes = application.memory.writes()
    if number > len(writes):
        raise Rejected(
            f"There is no write {number}.",
            kind="usage",
            hint=f"`hermes-jobs memory log` lists 1 to {len(writes)}." if writes else "There is none yet.",
        )
    forgotten = _forgotten(context).get(number)
    if forgotten is not None:
        raise Rejected(
            f"Write {number} cannot be taken back: {removal_note(forgotten)}.",
            kind="memory_forgotten",
            hint="Add an entry: hermes-jobs memory add TEXT",
        )
    event = writes[number - 1].event
    changes = [Undo(number, event), *_trials(application, number, event)]
    note(application.memory.change(combine(changes, all_or_none=True), "memory undo").answer.strip())
    _print_changed(context, as_json=as_json)


def _trials(application: Application, number: int, event: MemoryEvent) -> Sequence[Decision]:
    """The verification results of undoing that write, if a review wrote it."""
    from hermes_jobs.interfaces.cli.reviews.verifications import undone_elsewhere

    is_tried = event.evidence is not None and getattr(event, "provisional", False)
    review = event.evidence.session if event.evidence is not None and is_tried else ""
    return undone_elsewhere(application, review, "memory", str(number))


@memory.command("why", epilog=example('hermes-jobs memory why "metric units"'))
@click.argument("text", type=TextParam())
@limit_option("entries", default=5)
@json_option
@pass_context
def why(context: CliContext, text: str, limit: int, as_json: bool) -> None:
    """Show where an entry came from.

    The session, the turn, and your message there.
    """
    from hermes_jobs.interfaces.cli.memory.format import Provenance, entries_with

    home = context.application.memory
    now, writes, forgotten = home.sync(), home.writes(), _forgotten(context)
    entries = entries_with(text, now, writes, forgotten)[:limit]
    evidences = Provenance(context.application, writes, forgotten)
    print_result(
        lambda: [evidences.as_object(entry, now) for entry in entries],
        lambda: print_text("\n\n".join(evidences.as_text(entry, now) for entry in entries)),
        as_json=as_json,
    )


@memory.command(
    "at", epilog=example("hermes-jobs memory at yesterday", 'hermes-jobs memory at "2026-11-01 12:00"')
)
@click.argument("date")
@json_option
@pass_context
def at(context: CliContext, date: str, as_json: bool) -> None:
    """Show the memory as it was at a time, or at the end of a day."""
    from hermes_jobs.domain.memory.entries import Recorded, entries_with_history, placed
    from hermes_jobs.domain.memory.memory import Memory, fold
    from hermes_jobs.interfaces.cli.memory.format import moment, removal_note

    until = moment(date)
    home = context.application.memory
    home.sync()
    past = [write for write in home.writes() if write.at <= until]
    events = [write.event for write in past]
    forgotten = [recorded for version, recorded in _forgotten(context).items() if version <= len(events)]
    if forgotten:
        writes = pluralize(len(forgotten), "write")
        note(f"Of {writes} up to then the text is not known any more: {removal_note(forgotten[-1])}.")
    then = fold(Memory(), events)
    entries = entries_with_history(
        then, (Recorded(previous.version, previous.event, previous.at) for previous in past)
    )
    places = placed(entries, context.application.memory_limits, allowed=then.allowed)
    _print(context, places, None, as_json=as_json)


@memory.command("provider", epilog=example("hermes-jobs memory provider"))
@click.argument("values", metavar="[KEY=VALUE]...", type=TextParam(), nargs=-1)
@json_option
@pass_context
def provider(context: CliContext, values: tuple[str, ...], as_json: bool) -> None:
    """Show or set the options of the external memory provider.

    It is used beside the built-in memory, and chosen by memory.provider.
    """
    from hermes_jobs.interfaces.cli.memory.provider import make, save, schema_of

    wrong = next((text for text in values if "=" not in text), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong!r} is not KEY=VALUE.")
    chosen_provider = make(context.application)
    if values:
        save(chosen_provider, values)
    name = context.settings.memory.provider
    available, keys = bool(chosen_provider.is_available()), schema_of(chosen_provider)

    def print_text() -> None:
        note(f"{name} is {'available' if available else 'not available'}.")
        if keys:
            print_table(("KEY", "MEANING"), list(keys.items()))

    print_result(
        lambda: {"provider": name, "available": available, "keys": keys}, print_text, as_json=as_json
    )


memory.add_command(forget_entry)
memory.add_command(curate)
memory.add_command(embed)


# --- shared helpers ----------------------------------------------------------------


def _forgotten(context: CliContext) -> Mapping[int, RecordedEvent]:
    """The writes without text, and the removal of each."""
    from hermes_jobs.domain.memory.memory import STREAM
    from hermes_jobs.runtime.forgetting import Forgetter, forgotten_in

    return forgotten_in(Forgetter(context.application).past(), STREAM)


def _arguments(
    words: Sequence[str], target: MemoryTarget | None, names: Sequence[str]
) -> tuple[MemoryTarget | None, Sequence[str]]:
    """The target, from the first word or an option, and the other words."""
    first = next((target for target in TARGETS if words[0] == target), None)
    if first is not None and len(words) == len(names) + 1 and target is None:
        return first, words[1:]
    if len(words) == len(names):
        return target, words
    usage = " ".join(["[memory|user]", *names])
    raise click.UsageError(
        f"Give {usage}, each in quotes where it has blanks; {len(words)} words were given."
    )


def _target_with(context: CliContext, old: str) -> MemoryTarget:
    """The target with an entry that contains the text; `memory` if there is none. Raises `Rejected` for
    both."""
    now = context.application.memory.sync()
    holding = [target for target in TARGETS if any(old in entry for entry in now.entries(target))]
    if len(holding) > 1:
        raise Rejected(
            f"Entries of both targets hold “{old}”.", kind="usage", hint="Say which: memory, or user."
        )
    return next(iter(holding), "memory")


def _write(context: CliContext, operation: Operation, *, as_json: bool) -> None:
    from hermes_jobs.domain.memory.writes import Origin, Write
    from hermes_jobs.interfaces.cli.memory.words import describe_write, for_people

    application, target = context.application, operation.target
    change = Write([operation], Origin("user"), application.memory_limits)
    try:
        result = application.memory.change(change, f"memory {operation.action}")
    except Rejected as rejection:
        raise for_people(rejection, adds=operation.action == "add") from rejection
    events = [event for write in result.writes for event in write.events]
    now = application.memory.sync()
    note(describe_write(events, target, now.entries(target), application.memory_limits.of(target)))
    _print_changed(context, as_json=as_json)


def _print_changed(context: CliContext, *, as_json: bool) -> None:
    print_result(
        lambda: _memory_json(context, context.application.memory_places(), TARGETS, None),
        lambda: None,
        as_json=as_json,
    )


def _print(
    context: CliContext,
    places: Placement,
    target: MemoryTarget | None,
    limit: int | None = None,
    *,
    as_json: bool,
) -> None:
    targets = TARGETS if target is None else (target,)

    def print_text() -> None:
        marks = _marks(context, places)
        for number, shown_target in enumerate(reversed(targets)):
            limits = context.application.memory_limits
            heading = (
                f"{TITLES[shown_target]} [{fill(places.in_prompt(shown_target), limits.of(shown_target))}]"
            )
            _print_part(
                heading,
                [entry for entry in places.prompt if entry.target == shown_target],
                places,
                limit,
                number,
                marks=marks,
            )
        recalled = [entry for entry in places.recalled if entry.target in targets]
        for heading, part in (
            (
                "Recalled when a message is about it",
                [entry for entry in recalled if not entry.is_observation],
            ),
            (
                "Observations of finished conversations, only recalled",
                [entry for entry in recalled if entry.is_observation],
            ),
        ):
            if part:
                _print_part(heading, part, places, limit, marks=marks)
        left_out = [entry for entry in places.left_out if entry.target in targets]
        if left_out:
            _print_part("Left out", left_out, places, limit, marks=marks)

    print_result(lambda: _memory_json(context, places, targets, limit), print_text, as_json=as_json)


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
    from hermes_jobs.domain.memory.entries import in_order

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
    from hermes_jobs.domain.memory.entries import in_order
    from hermes_jobs.interfaces.cli.reviews.verifications import mark_of, verifications_by_subject

    provisional = [entry for entry in in_order(places) if entry.review]
    verifications = verifications_by_subject(context.application) if provisional else {}
    return {
        entry.version: mark
        for entry in provisional
        if (mark := mark_of(entry.review, verifications.get(("memory", str(entry.version), entry.review))))
    }


def _line(entry: Entry, places: Placement, verified: str) -> str:
    from hermes_jobs.domain.memory.entries import USUAL

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
