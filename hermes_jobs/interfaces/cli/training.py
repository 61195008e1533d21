"""`hermes-jobs export --format sharegpt`: which conversations become training data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.agent.llm.sharegpt import ShareGptConversation, ShareGptMessage, told_turns
from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.session import stream_of
from hermes_jobs.domain.session.synthetic_messages import INTERRUPTED
from hermes_jobs.domain.streams import SESSIONS

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.eventlog.log import EventLog, RecordedEvent

KINDS = ("conversation", "scheduled")


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted: these lineages (none named: all), turns asked for since then (ISO 8601, UTC; empty:
    ever), with the system prompt or without."""

    lineages: tuple[str, ...] = ()
    since: str = ""
    system: bool = True


class TrainingConversation(msgspec.Struct, frozen=True, kw_only=True):
    """One line of training data."""

    id: str
    model: str
    conversations: list[ShareGptMessage]


def training_lines(application: Application, selection: Selection) -> Iterator[bytes]:
    """One JSON object for each conversation with a completed turn; this process's secrets are redacted."""
    log = application.log
    streams = [stream_of(lineage) for lineage in selection.lineages]
    for stream in streams or [head.stream for head in log.streams(SESSIONS)]:
        found = _conversation(log, stream, selection)
        if found is not None:
            redact = application.settings.secrets.redact
            said = [ShareGptMessage(each.speaker, redact(each.value)) for each in found.conversations]
            yield msgspec.json.encode(msgspec.structs.replace(found, conversations=said)) + b"\n"


def _conversation(log: EventLog, stream: str, selection: Selection) -> TrainingConversation | None:
    recorded = _history(log, stream, None)
    started = [each.event for each in recorded if isinstance(each.event, e.SessionStarted)]
    if not started or started[-1].kind not in KINDS:
        return None
    told = told_turns([(each.event, each.recorded_at) for each in recorded], INTERRUPTED)
    chosen = [turn for turn in told if turn.completed and turn.at >= selection.since]
    if not chosen:
        return None
    prompt = [ShareGptMessage("system", started[0].system_prompt)] if selection.system else []
    return TrainingConversation(
        id=stream.removeprefix(SESSIONS),
        model=_model(recorded, chosen[-1]),
        conversations=[*prompt, *(said for turn in chosen for said in turn.said)],
    )


def _history(log: EventLog, stream: str, upto: int | None) -> list[RecordedEvent]:
    """The stream's events behind those that it goes on from."""
    own = list(log.read(stream, upto=upto))
    first = own[0].event if own else None
    if isinstance(first, e.SessionStarted) and first.parent is not None and first.at is not None:
        return [*_history(log, stream_of(first.parent), first.at), *own]
    return own


def _model(recorded: list[RecordedEvent], turn: ShareGptConversation) -> str:
    """Who answered in the turn."""
    models = [
        each.event.model
        for each in recorded
        if isinstance(each.event, e.ModelReplied) and each.event.turn == turn.turn
    ]
    return models[-1] if models else ""
