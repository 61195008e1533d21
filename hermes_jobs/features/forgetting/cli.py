"""`sessions delete`, `memory forget` and `redact`: text is removed, and the removal is recorded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import command, shared_option
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import (
    Json,
    SessionId,
    example,
    option_group,
    yes_option,
)
from hermes_jobs.interfaces.cli.output import note, one_line, print_json, print_text
from hermes_jobs.interfaces.cli.param_types import ListedParam, NonEmpty, TextParam
from hermes_jobs.interfaces.cli.questions.confirmation import confirmed
from hermes_jobs.interfaces.cli.stdio import read_stdin
from hermes_jobs.kernel.streams.streams import nouns_about_sessions
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.features.forgetting.erase import Forgetter, Matches
    from hermes_jobs.kernel.events import ForgettingCause
    from hermes_jobs.kernel.streams.forgetting import Removal, SessionFamily
    from hermes_jobs.kernel.views.models import SessionView

MAX_STREAMS = 8  # listed streams
REMAINING_COPIES = (
    "Not reached: what providers keep, earlier backups and exports, what was delivered, files outside the"
    " home, this terminal."
)

COMPLETE = "Complete: the log and the files of this home hold nothing of it."
INCOMPLETE = (
    "Not complete yet: another process is still reading an earlier state of the log. When that has ended, a"
    " worker of this home erases the rest within seconds, or else the next command."
)


class RemovalOptions(NamedTuple):
    """The options of a removal: the recorded reason, confirmation, and output."""

    why: str
    dry_run: bool
    yes: bool
    as_json: bool


_removal_options = option_group(
    "options",
    RemovalOptions,
    click.option("--why", metavar="TEXT", type=TextParam(), default="", help="Reason, which is recorded."),
    click.option("--dry-run", is_flag=True, help="Only print what would be deleted."),
    yes_option("Do not ask."),
    shared_option(Json, "as_json"),
)


class Request:
    """One removal on the command line: matches, confirmation, and result."""

    def __init__(self, context: CliContext, options: RemovalOptions, *, force: bool = False) -> None:
        from hermes_jobs.features.forgetting.cleanup import Cleanup
        from hermes_jobs.features.forgetting.erase import Forgetter

        self._context = context
        self.forgetter: Forgetter = Forgetter(context.application)
        self._cleanup = Cleanup(context.application)
        self._options = options
        self._force = force
        if not options.dry_run:
            self._cleanup.clean()

    def find(self, removal: Removal) -> Matches:
        """The matches. Raises `Rejected` if the reason contains the text to be forgotten."""
        if removal.found(self._options.why):
            raise Rejected(
                "The reason contains the text that is to be removed.", kind="usage", hint="Use other words."
            )
        return self.forgetter.find(removal)

    def is_wanted(self, question: str, matches: Matches) -> bool:
        """Ask for confirmation; a dry run ends here. Raises a usage error without a terminal."""
        if self._options.dry_run:
            self._print(None, matches)
            return False
        confirmed_by_user = confirmed(question, "Nothing was removed", yes=self._options.yes, default=False)
        if not confirmed_by_user:
            note("Nothing was removed.")
        return confirmed_by_user

    def carry_out(
        self, removal: Removal, matches: Matches, cause: ForgettingCause, family: SessionFamily | None = None
    ) -> None:
        """Remove the text, and print the result."""
        forgetting = self.forgetter.forget(
            removal,
            matches,
            cause=cause,
            why=self._options.why,
            sessions=family.sessions if family is not None else (),
            force=self._force,
        )
        if family is not None:
            self.forgetter.end_sessions(family)
        self._print(forgetting, matches, is_complete=self._cleanup.clean_patiently())

    def _print(self, forgetting: str | None, matches: Matches, *, is_complete: bool = True) -> None:
        if self._options.as_json:
            per_stream = Counter(rewrite.stream for rewrite in matches.rewrites)
            print_json(
                {
                    "forgetting": forgetting,
                    "dry_run": self._options.dry_run,
                    "is_complete": is_complete,
                    "num_events": len(matches.rewrites),
                    "streams": per_stream,
                    "num_results": len(matches.results),
                    "num_blobs": len(matches.blobs),
                    "num_keys": len(matches.keys),
                    "num_names": matches.named,
                }
            )
        elif forgetting is not None:
            recorded = f"recorded as {forgetting}: hermes-jobs log events --stream forgetting-{forgetting}"
            note(f"Removed, and {recorded}")
            note(COMPLETE if is_complete else INCOMPLETE)
        elif self._options.dry_run:
            note("Nothing was removed: this was a dry run.")
        else:
            note("Removed.")


# --- sessions delete ----------------------------------------------------------------------------------


@command("delete", epilog=example("hermes-jobs sessions delete s3k9", "hermes-jobs sessions delete s3k9 -y"))
@click.option("--with-forks", is_flag=True, help="Also delete sessions that were forked from it.")
@_removal_options
def delete_session(
    context: CliContext,
    session_id: SessionId,
    with_forks: bool,
    options: RemovalOptions,
) -> None:
    """Delete a session and every text in it.

    Its reviews, sub-agents, deliveries and observations are deleted with it. Its cost stays in `usage`. Other
    memory entries and skills that were learned from it stay. If it is a sub-agent's session, its answer stays
    in the parent session. This cannot be undone.
    """
    from hermes_jobs.kernel.streams.forgetting import Removal, deleted

    session = context.find_session(session_id)
    request = Request(context, options)
    family = request.forgetter.family(session.stream, with_forks=with_forks)
    _check_forks(family)
    _check_schedules(request.forgetter, family)
    request.forgetter.check_idle(family)
    observed = request.forgetter.observed_in(family.sessions)
    removal = Removal(text=deleted, streams=family.streams, ids=family.sessions)
    matches = request.find(removal)
    if not options.as_json:
        note(f"Session {session.id}: {one_line(session.label)}")
        note(f"  {pluralize(session.num_turns, 'turn')}, last used {format_time(session.last_at)}")
        for line in _family_notes(session.stream, family, len(observed)):
            note(f"  {line}")
        for line in _remaining_notes(context, session, family):
            note(f"  {line}")
        note(REMAINING_COPIES)
    if request.is_wanted("Delete it permanently?", matches):
        request.forgetter.forget_observations(observed, why=options.why)
        request.carry_out(removal, request.find(removal), "session", family)


def _check_forks(family: SessionFamily) -> None:
    if family.forks:
        names = ", ".join(sorted(fork.removeprefix("session-") for fork in family.forks))
        raise Rejected(
            f"It was forked, and its forks contain its history: {names}.",
            kind="forked",
            hint="Delete them, too, with --with-forks, or delete them first.",
        )


def _check_schedules(forgetter: Forgetter, family: SessionFamily) -> None:
    schedules = forgetter.schedules_of(family.sessions)
    if schedules:
        raise Rejected(
            f"Schedule {schedules[0]} continues in it.",
            kind="scheduled",
            hint=f"Remove it first: hermes-jobs schedule remove {schedules[0]}",
        )


def _family_notes(stream: str, family: SessionFamily, observations: int) -> Iterator[str]:
    others = sorted(family.streams - {stream})
    sessions = [other.removeprefix("session-") for other in others if other.startswith("session-")]
    if sessions:
        yield f"with it: {', '.join(sessions[:MAX_STREAMS])}{' …' * (len(sessions) > MAX_STREAMS)}"
    for prefix, nouns in nouns_about_sessions().items():
        if number := sum(other.startswith(prefix) for other in others):
            yield f"with it: {pluralize(number, *nouns)}"
    if observations:
        yield f"with it: {pluralize(observations, 'observation')} of it in the memory"


def _remaining_notes(context: CliContext, session: SessionView, family: SessionFamily) -> Iterator[str]:
    if session.place is not None:
        yield f"stays: its task and its answer in session {session.place.parent}, its parent"
    writes = context.application.memory.writes()
    learned = [
        str(write.version)
        for write in writes
        if write.event.evidence is not None
        and write.event.evidence.session in family.sessions
        and write.event.author != "consolidation"
    ]
    if learned:
        yield f"stays: what it led to in the memory, writes {', '.join(learned)} (see `memory forget`)"
    yield "stays: its cost in `usage`"


# --- memory forget ------------------------------------------------------------------------------------


@command("forget", epilog=example("hermes-jobs memory log", "hermes-jobs memory forget 7"))
@click.argument("number", metavar="N", type=ListedParam("hermes-jobs memory log"))
@click.option("--force", is_flag=True, help="Also if unfinished turns contain the entry.")
@_removal_options
def forget_entry(context: CliContext, number: int, force: bool, options: RemovalOptions) -> None:
    """Delete the entry of write N of `memory log` permanently.

    The entry is removed in all its versions, and its text wherever it occurs word for word: in the log, in
    prompts, in the calls that wrote it. `memory log` still shows that there was an entry. This cannot be
    undone; `memory remove` can.
    """
    from hermes_jobs.features.forgetting.patterns import Pattern, exact_texts
    from hermes_jobs.features.memory.rules.provenance import Drop, forms_of
    from hermes_jobs.kernel.streams.forgetting import FORGOTTEN, Removal

    memory = context.application.memory
    if not options.dry_run:
        memory.sync()
    writes = memory.writes()
    if number > len(writes):
        raise Rejected(
            f"There is no write {number}.", kind="usage", hint="`hermes-jobs memory log` lists them."
        )
    request = Request(context, options, force=force)
    texts = forms_of(number, [write.event for write in writes])
    pattern = Pattern(exact_texts(texts), FORGOTTEN)
    removal = Removal(text=pattern, found=pattern.found)
    matches = request.find(removal)
    if not options.as_json:
        for text in texts:
            print_text(f"- {text}")
        _print_places(matches)
    if request.is_wanted("Delete it permanently?", matches):
        memory.change(Drop(texts), "memory forget")
        request.carry_out(removal, request.find(removal), "memory")


# --- redact -------------------------------------------------------------------------------------------


@command(
    epilog=example(
        'hermes-jobs redact "4111 1111 1111 1111"', "hermes-jobs redact --regex 'DE\\d{20}' --dry-run"
    )
)
@click.argument("pattern", type=NonEmpty())
@click.option("--regex", is_flag=True, help="PATTERN is a Python regular expression; case matters.")
@click.option("--force", is_flag=True, help="Also if unfinished turns contain it.")
@_removal_options
def redact(
    context: CliContext,
    pattern: str,
    regex: bool,
    force: bool,
    options: RemovalOptions,
) -> None:
    """Remove a text permanently from conversations, memory, skills, results, titles and logs.

    It is replaced by `[redacted]`; an attachment is deleted if its name, the text of its pages, what was
    heard in it, or its description contains it. Case is ignored. `-` reads PATTERN from standard input, which
    keeps it out of your shell's history. This cannot be undone.
    """
    from hermes_jobs.features.forgetting.patterns import Pattern, literal
    from hermes_jobs.kernel.streams.forgetting import Removal

    searched = read_stdin().strip("\n") if pattern == "-" else pattern
    if not searched.strip():
        raise click.UsageError("PATTERN is empty.")
    if pattern == "-" and not (options.yes or options.dry_run):
        raise click.UsageError("Add --yes or --dry-run, because standard input contains the pattern.")
    try:
        compiled = re.compile(searched) if regex else literal(searched)
    except re.error as error:
        raise click.UsageError(f"PATTERN is not a regular expression: {error}.") from error
    replace = Pattern(compiled)
    if not options.dry_run:
        context.application.sync_files()
    request = Request(context, options, force=force)
    blobs = request.forgetter.blobs_with(replace.found)
    removal = Removal(text=replace, found=replace.found, blobs=blobs)
    matches = request.find(removal)
    files = request.forgetter.files_with(removal)
    if not options.as_json:
        _print_places(matches, files)
    if not (matches or files or options.as_json):
        note("Nothing that can be removed contains it.")
    elif request.is_wanted("Remove it permanently?", matches):
        request.carry_out(removal, matches, "pattern")


def _print_places(matches: Matches, files: Sequence[str] = ()) -> None:
    per_stream = Counter(rewrite.stream for rewrite in matches.rewrites)
    for stream, count in per_stream.most_common(MAX_STREAMS):
        note(f"  {stream}: {pluralize(count, 'event')}")
    if len(per_stream) > MAX_STREAMS:
        note(f"  and {pluralize(len(per_stream) - MAX_STREAMS, 'more stream')}")
    if matches.results:
        note(f"  {pluralize(len(matches.results), 'large result')}")
    if matches.blobs:
        note(f"  {pluralize(len(matches.blobs), 'attached content')}, as a whole")
    if matches.keys:
        note(f"  {pluralize(len(matches.keys), 'title or key', 'titles or keys')}")
    if files:
        note(f"  {', '.join(files)}")
    if matches.named:
        note(
            f"  It stays in names, in {pluralize(matches.named, 'event')}: ids, tools, models, skills, kinds."
        )
    if matches or files:
        note(REMAINING_COPIES)
