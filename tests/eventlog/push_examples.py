"""An example of every event of `push`."""

from __future__ import annotations

from hermes_jobs.features.push import events as p

EXAMPLES = (
    p.BrowserSubscribed(
        browser="3f0c9d2ab81e", by="web:anna", service="push.example.com", at=1_795_440_462.25
    ),
    p.BrowserUnsubscribed(browser="3f0c9d2ab81e", by="service"),
)
