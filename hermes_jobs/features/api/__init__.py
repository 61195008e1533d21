"""The API for programs: keys, OpenAI's endpoints, and the commands as JSON over HTTP. `serve` serves it."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:ApiKeyEvent",
    streams="rules:STREAMS",
    commands={"keys": Command("cli:keys", "Add, list and revoke the keys of programs.", "Talk")},
)
