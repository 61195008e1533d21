"""`hermes-jobs log events`: prints the log, and verifies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Corrupt, Rejected
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import cut, note, one_line, print_event, terminal_width
from hermes_jobs.interfaces.cli.param_types import IntParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.stdio import has_reader
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.client.transfer import VerifyReport
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.log.log import EventLog

BATCH = 1000
WAIT_SECONDS = 1.0
MAX_NAMES = 6  # names in a message
LINE = 280  # characters of an event if not on a terminal


@group(
    invoke_without_command=True,
    epilog=example("hermes-jobs log events --stream session-s3k9 --json", "hermes-jobs log events verify"),
)
@click.option(
    "--stream", metavar="S", help="Only this stream, such as session-s3k9, or streams with this prefix."
)
@click.option("--after", metavar="POSITION", type=IntParam(min=0), help="Only events after this position.")
@click.option("--follow", "-f", is_flag=True, help="Print new events as they are appended, until Ctrl-C.")
@limit_option("events: the first after POSITION, else the newest", default=None)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_context
def events(
    click_context: click.Context,
    stream: str | None,
    after: int | None,
    follow: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the log's events, or verify the log.

    The oldest come first. Every event has its position in the log and its version in its stream.
    """
    if click_context.invoked_subcommand is not None:
        return
    log = click_context.ensure_object(CliContext).application.log
    if stream is not None:
        stream = _find_stream(log, stream, may_come=follow)
    start = _start(log, stream, limit) if after is None else after
    show = print_event if as_json else _print
    position = start
    for recorded in _limited(_events(log, stream, start), limit):
        position = recorded.position
        show(recorded)
    if position == start and not follow and not as_json:
        note("No events.")
    position_seen = position
    while follow and has_reader():
        log.wait(position_seen, WAIT_SECONDS)
        position_seen = log.last_position()  # of any stream, so that other streams' events do not wake this
        for recorded in _events(log, stream, position):
            position = recorded.position
            show(recorded)


def _events(log: EventLog, stream: str | None, after: int) -> Iterator[RecordedEvent]:
    """The events after the position, up to the end of the log.

    Raises `NewerSchema` at the first event that needs a newer hermes-jobs, after yielding those before it.
    """
    while batch := log.tail(after, BATCH, stream=stream):
        yield from batch
        after = batch[-1].position


def _limited(events: Iterator[RecordedEvent], limit: int | None) -> Iterable[RecordedEvent]:
    from itertools import islice

    return events if limit is None else islice(events, limit)


def _start(log: EventLog, stream: str | None, limit: int | None) -> int:
    """The position before the newest `limit` events."""
    if limit is None:
        return 0
    if stream is not None:
        head = log.head(stream)
        newest = log.read(stream, after=max(0, head.version - limit)) if head else ()
        return newest[0].position - 1 if newest else 0
    return max(0, log.last_position() - limit)


def _find_stream(log: EventLog, text: str, *, may_come: bool) -> str:
    """The stream of that name, or the only one with that prefix.

    Raises `Rejected` if there is none, unless it `may_come` later.
    """
    if log.head(text) is not None:
        return text
    streams = [head.stream for head in log.streams(text)]
    if len(streams) == 1:
        return streams[0]
    if may_come:
        return text
    if streams:
        names = f"{', '.join(streams[:MAX_NAMES])}{' …' * (len(streams) > MAX_NAMES)}"
        message = f"{text!r} fits several streams: {names}."
        raise Rejected(message, kind="ambiguous", hint="Give a longer prefix.")
    raise _unknown_stream(log, text)


def _unknown_stream(log: EventLog, stream: str) -> Rejected:
    from difflib import get_close_matches

    streams = [head.stream for head in log.streams()]
    near = get_close_matches(stream, streams, n=3, cutoff=0.4)
    nearest = f" The nearest: {', '.join(near)}." if near else ""
    return Rejected(
        f"There is no stream {stream!r}.{nearest}",
        kind="unknown_stream",
        hint="A session's stream is called session-ID.",
    )


def _print(recorded: RecordedEvent) -> None:
    """One line for users."""
    import msgspec

    from hermes_jobs.kernel.events import OpaqueEvent

    event = recorded.event
    data = event.data if isinstance(event, OpaqueEvent) else msgspec.json.encode(event).decode()
    text = one_line(data)
    when = format_time(recorded.recorded_at, seconds=True)
    line = (
        f"{recorded.position:>6}  {when}  {recorded.stream}  {recorded.version:>4}  {recorded.type}  {text}"
    )
    click.echo(cut(line, terminal_width() or LINE))


@events.command("verify", epilog=example("hermes-jobs log events verify"))
def verify(context: CliContext, as_json: Json) -> None:
    """Verify the log's hashes, and the due steps that follow from it.

    It checks the hash chain of every stream, and recomputes the due steps from the events.
    """
    from hermes_jobs.client.transfer import verify_log

    report = verify_log(context.application)
    print_result(lambda: report, lambda: _print_problem(report), as_json=as_json)
    if report.unread:
        note(f"Not checked, because only a newer hermes-jobs can read them: {', '.join(report.unread)}.")
    if report.opaque:
        number = pluralize(len(report.opaque), "stream")
        note(f"Only the hashes were checked of {number} of features that are not installed: see `doctor`.")
    if not report.is_sound:
        raise Corrupt(f"The log contradicts itself in {pluralize(len(report.findings), 'place')}.")


def _print_problem(report: VerifyReport) -> None:
    for finding in report.findings:
        click.echo(one_line(f"{finding.stream or 'the log'}: {finding.message}"))
    looked_at: tuple[str, ...] = (
        pluralize(report.num_events, "event"),
        pluralize(report.num_streams, "stream"),
        pluralize(report.num_steps, "due step"),
    )
    if report.num_blobs:
        looked_at = (*looked_at, pluralize(report.num_blobs, "attached content"))
    note(f"Looked at {', '.join(looked_at)}: {pluralize(len(report.findings), 'contradiction')}.")
    if report.num_forgotten:
        note(f"Texts were removed from {pluralize(report.num_forgotten, 'event')}, as the log records.")
