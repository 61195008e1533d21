"""An event as `hermes-jobs events --json` and `send --jsonl` print it: the outside's names, fixed."""

from __future__ import annotations

import msgspec

from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.output import echo_json


def print_event(recorded: RecordedEvent) -> None:
    """One JSON object on one line of standard output, in UTF-8."""
    line = {
        "position": recorded.position,
        "stream": recorded.stream,
        "version": recorded.version,
        "type": recorded.type,
        "data": _whole(recorded.event),
        "meta": {**msgspec.to_builtins(recorded.meta), "schema": recorded.schema},
        "recorded_at": recorded.recorded_at,
    }
    echo_json(msgspec.json.encode(line))


def _whole(value: object) -> object:
    """The value with all its fields, also its defaults, but for those that were never set."""
    match value:
        case msgspec.Struct():
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return {name: _whole(field) for name, field in fields if field is not msgspec.UNSET}
        case tuple():
            return [_whole(each) for each in value]
        case _:
            return value
