"""`hermes-jobs memory`: entries, their authors and origins, and undoing writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.forgetting.cli import forget_entry
from hermes_jobs.features.memory.cli.contents import print_changed, print_contents
from hermes_jobs.features.memory.cli.curate import curate
from hermes_jobs.features.memory.cli.history import at, log, undo, why
from hermes_jobs.features.memory.rules.memory import TARGETS
from hermes_jobs.features.memory.rules.writes import Operation
from hermes_jobs.features.recall.cli import embed
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.stdio import read_stdin
from hermes_jobs.interfaces.cli.table import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.features.memory.events import MemoryClass, MemoryTarget

KINDS = ("identity", "episodic")


@group(epilog=example("hermes-jobs memory show", 'hermes-jobs memory add user "Prefers metric units"'))
def memory() -> None:
    """Show and change what the agent remembers; see who wrote it and why, and take it back.

    There are two targets: `user` (who you are) and `memory` (everything else). Both are files in the home,
    memories/USER.md and memories/MEMORY.md, which you may edit.
    """


@memory.command("show", epilog=example("hermes-jobs memory show user --json"))
@click.argument("target", type=click.Choice(TARGETS), required=False)
@limit_option("entries of each, the newest", default=None)
def show(context: CliContext, target: MemoryTarget | None, limit: int | None, as_json: Json) -> None:
    """Show the entries, and which of them are in prompts.

    Entries that are only recalled, or left out, are listed with the reason. Prompts have room for
    `memory.memory_chars` and `memory.user_chars`; other entries are recalled when a message is about them.
    """
    print_contents(context, context.application.memory_places.preview(), target, limit, as_json=as_json)


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
def add(
    context: CliContext,
    words: tuple[str, ...],
    *,
    target: MemoryTarget | None,
    kind: MemoryClass | None,
    tags: tuple[str, ...],
    anyway: bool,
    as_json: Json,
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
def replace(context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, as_json: Json) -> None:
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
def remove(context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, as_json: Json) -> None:
    """Remove the one entry that contains OLD."""
    chosen_target, (old,) = _arguments(words, target, ("OLD",))
    where = chosen_target or _target_with(context, old)
    _write(context, Operation(action="remove", target=where, old_text=old), as_json=as_json)


@memory.command("provider", epilog=example("hermes-jobs memory provider"))
@click.argument("values", metavar="[KEY=VALUE]...", type=TextParam(), nargs=-1)
def provider(context: CliContext, values: tuple[str, ...], as_json: Json) -> None:
    """Show or set the options of the external memory provider.

    It is used beside the built-in memory, and chosen by memory.provider.
    """
    from hermes_jobs.features.memory.cli.provider import make, save, schema_of

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


for command in (log, undo, why, at, forget_entry, curate, embed):
    memory.add_command(command)


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
    from hermes_jobs.features.memory.cli.words import describe_write, for_people
    from hermes_jobs.features.memory.rules.writes import Origin, Write

    application, target = context.application, operation.target
    change = Write([operation], Origin("user"), application.memory_limits)
    try:
        result = application.memory.change(change, f"memory {operation.action}")
    except Rejected as rejection:
        raise for_people(rejection, adds=operation.action == "add") from rejection
    events = [event for write in result.writes for event in write.events]
    now = application.memory.sync()
    note(describe_write(events, target, now.entries(target), application.memory_limits.of(target)))
    print_changed(context, as_json=as_json)
