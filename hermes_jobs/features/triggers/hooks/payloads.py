"""What a request to a hook says: its event, its fields, and the text that the task gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import msgspec

from hermes_jobs.features.triggers.events import Hook
from hermes_jobs.text.fences import shortened

FIELD = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}")
"""A field of the payload in a task, such as `{pull_request.title}`."""
VALUE_CHARS = 10_000
MISSING = "(not in the payload)"
PING = "ping"
"""The event by which GitHub tries a new hook: it starts nothing unless it is asked for."""


class Payload:
    """The payload of one request; `data` is None where it is not JSON."""

    def __init__(self, headers: Mapping[str, str], body: bytes) -> None:
        text = body.decode("utf-8", "replace")
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            text = parse_qs(text, max_num_fields=100).get("payload", [text])[0]
        self.text = text.replace("\0", "")
        self.data: Any = None
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            self.data = msgspec.json.decode(text)
        kind = self.data.get("type") if isinstance(self.data, dict) else None
        self.event = headers.get("x-github-event") or (kind if isinstance(kind, str) else "")

    def field(self, path: str) -> str | None:
        """The value of a field: a text as it is, others as JSON; None where there is none."""
        value = self.data
        for name in path.split("."):
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and len(name) < 9 and int(name) < len(value):
                value = value[int(name)]
            else:
                return None
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    def is_wanted(self, hook: Hook) -> bool:
        """Whether it passes the hook's filters."""
        if self.event not in hook.events and (hook.events or self.event == PING):
            return False
        wanted: dict[str, list[str]] = {}
        for path, _, value in (condition.partition("=") for condition in hook.fields):
            wanted.setdefault(path, []).append(value)
        return all(self.field(path) in values for path, values in wanted.items())

    def input_of(self, task: str) -> str:
        """The input for the task: the values of the fields that it names; else the whole payload."""
        values = {path: self.field(path) for path in dict.fromkeys(FIELD.findall(task))}
        if all(value is None for value in values.values()):
            return self.text
        return "\n".join(
            f"{{{path}}}: {MISSING if value is None else shortened(value, VALUE_CHARS)}"
            for path, value in values.items()
        ).replace("\0", "")


CONDITION = re.compile(rf"{FIELD.pattern[2:-2]}=.*", re.DOTALL)
"""A condition of a filter: `PATH=VALUE`."""


def faulty_conditions(conditions: Sequence[str]) -> list[str]:
    """Those that are not of that form."""
    return [condition for condition in conditions if not CONDITION.fullmatch(condition)]
