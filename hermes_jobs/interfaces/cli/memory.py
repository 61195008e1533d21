"""`hermes-jobs memory`: what the agent remembers, who wrote it, why, and taking it back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.domain.memory.memory import TARGETS, Memory, chars, fill
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option, newest
from hermes_jobs.interfaces.cli.output import note, print_json, print_table, print_text
from hermes_jobs.interfaces.cli.param_types import IntParam, TextParam
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.stdio import read_stdin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_jobs.domain.events import MemoryTarget
    from hermes_jobs.domain.memory.writes import MemoryAction

SHOWN = 5_000  # characters of an entry
TITLES = {"user": "Who you are", "memory": "What the agent has noted"}


@click.group(epilog=example("hermes-jobs memory show", 'hermes-jobs memory add user "Prefers metric units"'))
def memory() -> None:
    """Show and change what the agent remembers; see who wrote it and why, and take it back.

    There are two targets: `user` (who you are) and `memory` (everything else). Both are files in the home,
    memories/USER.md and memories/MEMORY.md, that may be edited by hand too.
    """


@memory.command("show", epilog=example("hermes-jobs memory show user --json"))
@click.argument("target", type=click.Choice(TARGETS), required=False)
@limit_option("entries of each, the newest", default=None)
@json_option
@pass_context
def show(context: CliContext, target: MemoryTarget | None, limit: int | None, as_json: bool) -> None:
    """Show the entries, and how full each target is."""
    _print(context, context.application.memory.sync(), target, limit, as_json=as_json)


@memory.command(
    "add",
    options_metavar="[OPTIONS] [memory|user]",
    epilog=example(
        'hermes-jobs memory add user "Prefers metric units"', "hermes-jobs memory add - < note.txt"
    ),
)
@click.argument("words", metavar="TEXT", type=TextParam(), nargs=-1, required=True)
@click.option("-t", "--target", type=click.Choice(TARGETS), help="Where to; memory unless it is said.")
@click.option("--anyway", is_flag=True, help="Although a rule names it as suspicious; it goes into prompts.")
@json_option
@pass_context
def add(
    context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, anyway: bool, as_json: bool
) -> None:
    """Add an entry; `-` reads it from standard input.

    What looks like orders to the agent, or like a secret, is refused by a rule. If it is harmless, --anyway
    takes it; so does an entry that is there already and that prompts leave out.
    """
    from hermes_jobs.errors import Rejected

    named, (text,) = _arguments(words, target, ("TEXT",))
    content = read_stdin() if text == "-" else text
    try:
        _write(context, "add", named or "memory", content=content, anyway=anyway, as_json=as_json)
    except Rejected as refused:
        if refused.kind != "memory_scan":
            raise
        hint = "Say it without that. If it is harmless, `memory add --anyway` takes it as it is."
        raise Rejected(refused.message, kind=refused.kind, hint=hint) from refused


@memory.command(
    "replace",
    options_metavar="[OPTIONS] [memory|user]",
    epilog=example('hermes-jobs memory replace "metric units" "Prefers imperial units"'),
)
@click.argument("words", metavar="OLD NEW", type=TextParam(), nargs=-1, required=True)
@click.option("-t", "--target", type=click.Choice(TARGETS), help="Where; the one that holds OLD.")
@json_option
@pass_context
def replace(context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, as_json: bool) -> None:
    """Replace the only entry that holds OLD by NEW."""
    named, (old, new) = _arguments(words, target, ("OLD", "NEW"))
    where = named or _target_with(context, old)
    _write(context, "replace", where, content=new, old_text=old, as_json=as_json)


@memory.command(
    "remove",
    options_metavar="[OPTIONS] [memory|user]",
    epilog=example('hermes-jobs memory remove "metric units"'),
)
@click.argument("words", metavar="OLD", type=TextParam(), nargs=-1, required=True)
@click.option("-t", "--target", type=click.Choice(TARGETS), help="Where; the one that holds OLD.")
@json_option
@pass_context
def remove(context: CliContext, words: tuple[str, ...], target: MemoryTarget | None, as_json: bool) -> None:
    """Remove the only entry that holds OLD."""
    named, (old,) = _arguments(words, target, ("OLD",))
    where = named or _target_with(context, old)
    _write(context, "remove", where, old_text=old, as_json=as_json)


@memory.command("log", epilog=example("hermes-jobs memory log -n 5"))
@limit_option("writes, newest first")
@json_option
@pass_context
def log(context: CliContext, limit: int, as_json: bool) -> None:
    """List what was written: by whom, when, and from which turn."""
    from hermes_jobs.interfaces.cli.memory_format import write_cells, write_json

    home = context.application.memory
    undone = home.sync().undone
    writes = home.writes()[::-1][:limit]
    headers = ("N", "WHEN", "BY", "TARGET", "TURN", "WHAT")
    cells, as_object = partial(write_cells, undone=undone), partial(write_json, undone=undone)
    resource = Resource(headers, cells, "Nothing was ever written.", as_object)
    resource.print_list(writes, as_json=as_json)


@memory.command("undo", epilog=example("hermes-jobs memory log", "hermes-jobs memory undo 7"))
@click.argument("number", metavar="N", type=IntParam(min=1))
@json_option
@pass_context
def undo(context: CliContext, number: int, as_json: bool) -> None:
    """Take back the write N of `memory log`.

    That is a new write, which can be taken back too.
    """
    from hermes_jobs.domain.memory.provenance import Undo

    application = context.application
    application.memory.sync()
    writes = application.memory.writes()
    if number > len(writes):
        raise Rejected(
            f"There is no write {number}.",
            kind="usage",
            hint=f"`hermes-jobs memory log` lists 1 to {len(writes)}." if writes else "There is none yet.",
        )
    change = Undo(number, writes[number - 1].fact, application.memory_limits)
    note(application.memory.change(change, "memory undo").answer)
    _print_changed(context, as_json=as_json)


@memory.command("why", epilog=example('hermes-jobs memory why "metric units"'))
@click.argument("text", type=TextParam())
@limit_option("entries", default=5)
@json_option
@pass_context
def why(context: CliContext, text: str, limit: int, as_json: bool) -> None:
    """Show what an entry came from.

    The session, the turn, and what you said there.
    """
    from hermes_jobs.interfaces.cli.memory_format import Provenance, entries_with

    home = context.application.memory
    now, writes = home.sync(), home.writes()
    found = entries_with(text, now, writes)[:limit]
    evidences = Provenance(context.application, writes)
    if as_json:
        print_json([evidences.as_object(each, now) for each in found])
        return
    for number, each in enumerate(found):
        print_text(("\n" if number else "") + evidences.as_text(each, now))


@memory.command(
    "at", epilog=example("hermes-jobs memory at 2026-11-01", 'hermes-jobs memory at "2026-11-01 12:00"')
)
@click.argument("date")
@json_option
@pass_context
def at(context: CliContext, date: str, as_json: bool) -> None:
    """Show what was remembered at a moment, or by the end of a day."""
    from hermes_jobs.domain.memory.memory import history
    from hermes_jobs.interfaces.cli.memory_format import moment

    until = moment(date)
    home = context.application.memory
    home.sync()
    facts = [write.fact for write in home.writes() if write.at <= until]
    _print(context, history(facts)[-1], None, as_json=as_json)


@memory.command("provider", epilog=example("hermes-jobs memory provider"))
@click.argument("values", metavar="[KEY=VALUE]...", type=TextParam(), nargs=-1)
@json_option
@pass_context
def provider(context: CliContext, values: tuple[str, ...], as_json: bool) -> None:
    """Show or set what the other memory provider takes.

    The one beside the built-in one: memory.provider names it.
    """
    from hermes_jobs.interfaces.cli.memory_provider import make, save, schema_of

    wrong = next((each for each in values if "=" not in each), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong!r} is not KEY=VALUE.")
    made = make(context.application)
    if values:
        save(made, values)
    name = context.settings.memory.provider
    available, keys = bool(made.is_available()), schema_of(made)
    if as_json:
        print_json({"provider": name, "available": available, "keys": keys})
        return
    note(f"{name} is {'available' if available else 'not available'}.")
    if keys:
        print_table(("KEY", "MEANING"), list(keys.items()))


# --- what they have in common ----------------------------------------------------------------


def _arguments(
    words: Sequence[str], target: MemoryTarget | None, names: Sequence[str]
) -> tuple[MemoryTarget | None, Sequence[str]]:
    """The target, where it was said as the first word or as an option, and the other words."""
    first = next((each for each in TARGETS if words[0] == each), None)
    if first is not None and len(words) == len(names) + 1 and target is None:
        return first, words[1:]
    if len(words) == len(names):
        return target, words
    given = " ".join(["[memory|user]", *names])
    raise click.UsageError(
        f"Give {given}, each in quotes where it has blanks; {len(words)} words were given."
    )


def _target_with(context: CliContext, old: str) -> MemoryTarget:
    """The target with an entry that holds the text; `memory` where none does. Raises `Rejected` for both."""
    now = context.application.memory.sync()
    holding = [target for target in TARGETS if any(old in entry for entry in now.entries(target))]
    if len(holding) > 1:
        raise Rejected(
            f"Entries of both targets hold «{old}».", kind="usage", hint="Say which: memory, or user."
        )
    return next(iter(holding), "memory")


def _write(
    context: CliContext,
    action: MemoryAction,
    target: MemoryTarget,
    *,
    content: str | None = None,
    old_text: str | None = None,
    anyway: bool = False,
    as_json: bool,
) -> None:
    from hermes_jobs.domain.memory.writes import Operation, Origin, Write

    application = context.application
    operation = Operation(action=action, target=target, content=content, old_text=old_text, anyway=anyway)
    change = Write([operation], Origin("user"), application.memory_limits)
    note(application.memory.change(change, f"memory {action}").answer)
    _print_changed(context, as_json=as_json)


def _print_changed(context: CliContext, *, as_json: bool) -> None:
    if as_json:
        _print(context, context.application.memory.sync(), None, as_json=True)


def _print(
    context: CliContext,
    now: Memory,
    target: MemoryTarget | None,
    limit: int | None = None,
    *,
    as_json: bool,
) -> None:
    from hermes_jobs.agent.memory.prompt_section import left_out

    limits = context.application.memory_limits
    targets = TARGETS if target is None else (target,)
    if as_json:
        shown: dict[str, Any] = {}
        for each in targets:
            entries = now.entries(each)
            filled = {"chars": chars(entries), "limit": limits.of(each)}
            out = left_out(entries, limits.of(each), now.allowed)
            missing = [{"entry": entry, "why": why} for entry, why in out.items()]
            shown[each] = {"entries": newest(entries, limit), **filled}
            if missing:
                shown[each]["left_out"] = missing
        print_json(shown)
        return
    for number, each in enumerate(reversed(targets)):
        entries = now.entries(each)
        blank = "\n" if number else ""
        click.echo(click.style(f"{blank}{TITLES[each]} [{fill(entries, limits.of(each))}]", bold=True))
        out = left_out(entries, limits.of(each), now.allowed)
        print_text("\n".join(_line(entry, out) for entry in newest(entries, limit)) or "(nothing)")


def _line(entry: str, out: Mapping[str, str]) -> str:
    why = out.get(entry)
    mark = "" if why is None else click.style(f"  (not in prompts: {why})", fg="yellow")
    text = entry if len(entry) <= SHOWN else f"{entry[:SHOWN]}… ({len(entry):,} characters)"
    return f"- {_indented(text)}{mark}"


def _indented(entry: str) -> str:
    return entry.replace("\n", "\n  ")
