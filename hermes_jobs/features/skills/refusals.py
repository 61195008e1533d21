"""Finds writes of skills that the guard refused in the log, so that a user can allow them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.origins import Evidence
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.system.struct_types import described

BATCH = 1_000  # events
TOOL = "skill_manage"


class _Arguments(msgspec.Struct):
    """The arguments of the tool."""

    action: skills_events.SkillAction
    name: str
    content: str | None = None
    category: str | None = None
    file_path: str | None = None
    file_content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False

    @property
    def request(self) -> skills_events.SkillRequest:
        content = self.content if self.content is not None else self.file_content
        return skills_events.SkillRequest(
            action=self.action,
            content=content or "",
            category=(self.category or "").strip() or None,
            path=(self.file_path or "").strip(),
            old_string=self.old_string or "",
            new_string=self.new_string or "",
            replace_all=self.replace_all,
        )


class RefusedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A refused write, and its call."""

    request: skills_events.SkillRequest
    evidence: Evidence


def last_refused(log: EventLog, name: str, refusal: str) -> RefusedWrite | None:
    """The newest write of that skill whose error contains `refusal`; None for none.

    It reads the log from its end, as far as needed.
    """
    for finished in _events_backwards(log):
        event = finished.event
        if isinstance(event, e.ToolFinished) and not event.ok and refusal in event.content:
            arguments = _arguments_of(log, finished.stream, event)
            if arguments is not None and arguments.name.strip() == name:
                session = finished.stream.partition("-")[2]
                evidence = Evidence(session=session, turn=event.turn, call=event.call)
                return RefusedWrite(request=arguments.request, evidence=evidence)
    return None


def _events_backwards(log: EventLog) -> Iterator[RecordedEvent]:
    end = log.last_position()
    while end > 0:
        start = max(0, end - BATCH)
        for recorded in reversed(log.tail(start, BATCH)):
            if start < recorded.position <= end:
                yield recorded
        end = start


def _arguments_of(log: EventLog, stream: str, finished: e.ToolFinished) -> _Arguments | None:
    for recorded in log.read(stream):
        event = recorded.event
        if not isinstance(event, e.ModelReplied):
            continue
        for call, planned in zip(event.tool_calls, event.plan, strict=False):
            if planned.call == finished.call and call.name == TOOL:
                return _decoded(call.arguments)
    return None


def _decoded(arguments: str) -> _Arguments | None:
    try:
        return msgspec.json.decode(arguments, type=described(_Arguments), strict=False)
    except msgspec.DecodeError:
        return None
