"""A home's log as portable lines: exported, imported into another home, and verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from hermes_jobs import __version__
from hermes_jobs.client.brought_along import Brought, of_events
from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.imported_rights import ImportedRights, withhold
from hermes_jobs.kernel.engine.quiesce import Rested, nothing_rested, quiesce, reconcile_children
from hermes_jobs.kernel.events import ChildrenStarted, SessionStarted
from hermes_jobs.kernel.log.copy_log import copy_log, temp_log
from hermes_jobs.kernel.log.export_log import export_log
from hermes_jobs.kernel.log.import_log import ImportResult, import_log
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.transaction import TransactionLog
from hermes_jobs.kernel.log.verify import VerifyReport as VerifyReport  # noqa: PLC0414 - for callers
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.text.moments import day_of, iso

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.log.database import Connection

BY = "import"


class Imported(NamedTuple):
    """What came in, and what of it rests."""

    came: ImportResult
    rested: Rested


class NotWanted(Exception):
    """The user did not confirm."""


def import_lines(
    application: Application,
    lines: Iterable[bytes],
    is_included: Callable[[str], bool],
    *,
    resume: bool,
    consent: Callable[[Sequence[Brought]], bool],
    brought: Sequence[Brought] = (),
    then: Callable[[], object] = lambda: None,
) -> Imported:
    """Import the lines after checking all of them. Imported work is paused unless `resume`.

    `consent` is asked before anything is written, with what the lines bring along, besides `brought`; raises
    `NotWanted` without it. `then` is called before the import becomes visible.
    """
    log, zone = sql_log(application), application.settings.zone
    rights = ImportedRights()

    def day(moment: str) -> str:
        return day_of(datetime.fromisoformat(moment).timestamp(), zone)

    def look(connection: Connection) -> ImportResult:
        looked_into = TransactionLog(connection, looked.log_id, log.codec)
        return import_log(looked_into, lines, day, log, is_included, rights.see, application.blobs)

    def rest(inner: TransactionLog) -> Rested:
        engine, limits = application.shared.engine_over(inner, BY), application.settings.delegation
        reconcile_children(engine, came.waiting, BY, per_root=limits.per_root, per_home=limits.per_home)
        rested = nothing_rested() if resume else quiesce(engine, came.streams, BY, came.waiting)
        withhold(engine, rights, came.streams, BY)
        then()
        return rested

    with temp_log(application.settings.paths.run, log.codec) as looked:
        came = looked.change_tables(look)
        if not consent((*brought, *of_events(rights, looked, resume=resume))):
            raise NotWanted
        return Imported(came, copy_log(looked, log, rest))


def exported_lines(application: Application, lineages: Sequence[str]) -> Iterator[bytes]:
    """The portable lines of the whole log, or of those lineages and their predecessors."""
    log = sql_log(application)
    return export_log(
        log,
        version=__version__,
        made_at=iso(application.clock.now()),
        streams=_with_relatives(log, lineages) if lineages else None,
        blobs=application.blobs,
    )


def sql_log(application: Application) -> SqlEventLog:
    """The log as a SQL log, which it always is."""
    log = application.log
    assert isinstance(log, SqlEventLog), "only logs in a database can be moved"
    return log


def _with_relatives(log: SqlEventLog, lineages: Sequence[str]) -> set[str]:
    """The streams of these lineages, of all that they were forked from, and of all their sub-agents that are
    here."""
    ids: set[str] = set()
    waiting = [stream_of(lineage) for lineage in lineages]
    while waiting:
        stream = waiting.pop()
        if stream in ids:
            continue
        if log.head(stream) is None:
            raise Rejected(f"There is no stream {stream!r}.", kind="unknown_stream")
        ids.add(stream)
        first, *others = (recorded.event for recorded in log.read(stream))
        if isinstance(first, SessionStarted) and first.parent is not None and first.at is not None:
            waiting.append(stream_of(first.parent))
        started = (event for event in others if isinstance(event, ChildrenStarted))
        children = (stream_of(ref.session) for event in started for ref in event.children)
        waiting.extend(child for child in children if log.head(child) is not None)
    return ids


def verify_log(application: Application) -> VerifyReport:
    """The log's hashes, and the due steps that follow from its events, looked at."""
    return verify(sql_log(application), application.blobs)
