"""The keys of the log that make titles unique among lineages."""

from __future__ import annotations

from hermes_jobs.domain.decision import UniqueKey
from hermes_jobs.domain.session.titles import title_key
from hermes_jobs.eventlog.log import EventLog

SCOPE = "title"


def key_of(lineage: str, title: str) -> UniqueKey:
    """The key with which the lineage takes a title."""
    return UniqueKey(scope=SCOPE, key=title_key(title), digest=lineage)


def title_keys(log: EventLog, lineage: str, title: str) -> tuple[UniqueKey, ...]:
    """That key as a tuple; empty where the lineage has had the title before."""
    known = log.key(SCOPE, title_key(title))
    return () if known is not None and known.digest == lineage else (key_of(lineage, title),)
