"""`ntfy:TOPIC`: the answer as a notification on phones and desktops, by a server of ntfy.

The JSON form of publishing (https://docs.ntfy.sh/publish/#publish-as-json): a POST to the root of the server.
A message has at most 4,096 bytes; `click` opens the page of the turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.deliveries.channel import Delivered
from hermes_jobs.features.deliveries.channels.webhook import post
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.system.clock import Clock

if TYPE_CHECKING:
    from hermes_jobs.settings.sections.processes import ServeSettings

MAX_BYTES = 3_900


class Notification(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of the request."""

    topic: str
    message: str
    title: str
    click: str = ""


class NtfyChannel:
    """Posts to the server of the settings; its access token is optional."""

    def __init__(self, settings: ServeSettings, token: str | None, *, clock: Clock) -> None:
        self._settings = settings
        self._token = token
        self._clock = clock

    def deliver(self, delivery: Delivery, address: str, cancel: Cancel) -> Delivered:
        """Publish the answer. Raises `DeliveryError`, `StepInterrupted`."""
        requested = delivery.requested
        assert requested is not None, f"{delivery.stream} was not requested"
        pages = (self._settings.public_url or "").rstrip("/")
        notification = Notification(
            topic=address,
            message=_cut(requested.text),
            title="hermes-jobs" if requested.ok else "hermes-jobs: failed",
            click=f"{pages}/turns/{requested.turn}" if pages and requested.turn else pages,
        )
        headers = {"content-type": "application/json", "user-agent": "hermes-jobs"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        server = f"{self._settings.ntfy_server.rstrip('/')}/"
        return Delivered(str(post(server, headers, msgspec.json.encode(notification), cancel, self._clock)))


def _cut(text: str) -> str:
    content = text.encode("utf-8", "replace")
    return text if len(content) <= MAX_BYTES else f"{content[:MAX_BYTES].decode(errors='ignore')}…"
