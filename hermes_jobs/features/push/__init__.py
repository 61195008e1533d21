"""Push: notifications in browsers that subscribed on the web pages, also while no page is open (ADR 183)."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:PushEvent",
    streams="rules:STREAMS",
    channels={"push": "channel:make"},
    secrets={"PUSH_KEY": "the key with which notifications to browsers are signed"},
    commands={"push": Command("cli:push", "Browsers that are notified: list, test and remove them.", "Talk")},
)
