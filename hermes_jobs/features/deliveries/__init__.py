"""Deliveries: answers on their way to the inbox, files, webhooks and chats, each tried until it arrives."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:DeliveryEvent",
    streams="rules:STREAMS",
    reaction="rules:react",
    queues={"delivery.send": "deliveries"},
    steps="steps:handlers",
    tables="tables:projections",
    secrets={
        "WEBHOOK_SECRET": "signs deliveries to webhooks",
        "NTFY_TOKEN": "the access token of the ntfy server, if it asks for one",
    },
    finders={"inbox show": "api:find_delivery"},
    commands={"inbox": Command("cli:inbox", "Unread answers and pending approvals.", "Talk")},
)
