"""`push`: the answer as a notification in every subscribed browser, by its maker's push service (RFC 8030).

A tap opens the page of the turn. If it has reached some browsers, that is recorded before the others are
tried again.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.api import Delivered, DeliveryError, PlaceholderSent
from hermes_jobs.features.deliveries.channels.webhook import post
from hermes_jobs.features.push import api
from hermes_jobs.features.push.message import authorization, encrypted, from_base64, new_key
from hermes_jobs.system.addresses import AddressRefused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.deliveries.api import Delivery
    from hermes_jobs.kernel.engine.ports import Cancel

GONE = frozenset({404, 410})
"""The answers of a push service for a subscription that is no more (RFC 8030, section 7.3)."""
KEPT = 86_400
"""Seconds for which a push service keeps what a browser cannot get yet."""
MAX_CHARACTERS = 500
CONTACT = "mailto:hermes-jobs@example.com"
"""Whom a push service would write to, where `serve.public_url` is not set: some require one."""


class Notification(msgspec.Struct, frozen=True):
    """What the browser shows. `path`: the page that a tap opens. One of the same `tag` replaces it."""

    title: str
    text: str
    path: str
    tag: str


class PushChannel:
    """Sends to the subscribed browsers of the home."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def deliver(self, delivery: Delivery, address: str, cancel: Cancel) -> Delivered | PlaceholderSent:
        """Notify the browsers that were not reached yet. Raises `DeliveryError`, `StepInterrupted`."""
        requested = delivery.requested
        assert requested is not None, f"{delivery.stream} was not requested"
        notification = Notification(
            title="hermes-jobs" if requested.ok else "hermes-jobs: failed",
            text=requested.text,
            path=f"/turns/{requested.turn}" if requested.turn else "/",
            tag=delivery.id,
        )
        before = [each for receipt in delivery.receipts for each in receipt.split(" ")]
        reached, errors = [], []
        for browser in api.browsers(self._application):
            if browser.browser in before:
                continue
            try:
                if self.send(browser, notification, cancel):
                    reached.append(browser.browser)
            except DeliveryError as error:
                errors.append(error)
        if errors and reached:
            return PlaceholderSent(part=len(delivery.receipts), receipt=" ".join(reached))
        if errors:
            raise _together(errors)
        if not before and not reached:
            raise DeliveryError(api.NOBODY, lasting=True)
        return Delivered(" ".join((*before, *reached)))

    def send(self, browser: api.BrowserView, notification: Notification, cancel: Cancel) -> bool:
        """Notify one browser; false where its subscription is over, and is removed. Raises as `deliver`."""
        subscription = api.subscription(self._application, browser.browser)
        key = api.signing_key(self._application)
        name = f"The push service {browser.service} of the browser {browser.browser}"
        if subscription is None or key is None:
            hint = f"hermes-jobs push remove {browser.browser}, and subscribe again"
            raise DeliveryError(f"This home has not the keys of the browser {browser.browser}: {hint}.")
        try:
            api.require_public(self._application, subscription.endpoint)
        except AddressRefused as error:
            raise DeliveryError(f"{name} is refused: {error}") from error
        headers = {
            "authorization": self._authorization(key, browser.service),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(KEPT),
            "urgency": "high",
            "user-agent": "hermes-jobs",
        }
        body = encrypted(
            _encoded(notification),
            from_base64(subscription.p256dh),
            from_base64(subscription.auth),
            sender=new_key(),
            salt=secrets.token_bytes(16),
        )
        try:
            post(subscription.endpoint, headers, body, cancel, self._application.clock, name=name)
        except DeliveryError as error:
            if error.status not in GONE:
                raise
            self._remove(browser.browser)
            return False
        return True

    def _authorization(self, key: EllipticCurvePrivateKey, service: str) -> str:
        """Who sends it, signed for that push service."""
        public_url = self._application.settings.serve.public_url or ""
        contact = public_url if public_url.startswith("https://") else CONTACT
        return authorization(key, f"https://{service}", contact, self._application.clock.now())

    def _remove(self, browser: str) -> None:
        try:
            api.unsubscribe(self._application, browser, api.SERVICE)
        except Rejected:
            return  # somebody else has removed it meanwhile


def make(application: Application) -> PushChannel:
    """The channel."""
    return PushChannel(application)


def _together(errors: list[DeliveryError]) -> DeliveryError:
    """One error for the browsers that were not reached: to be tried again if one of them may be reached."""
    waits = [error.retry_after for error in errors if error.retry_after is not None]
    return DeliveryError(
        " ".join(error.message for error in errors),
        lasting=all(error.lasting for error in errors),
        retry_after=max(waits, default=None),
    )


def _encoded(notification: Notification) -> bytes:
    """In JSON. A character has at most six bytes: the longest text is within the 3,993 that push services
    take (RFC 8030, section 7.2, says 4,096; the encryption adds 103).
    """
    text = notification.text.strip()
    cut = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
    plain = cut.encode("utf-8", "replace").decode()
    return msgspec.json.encode(msgspec.structs.replace(notification, text=plain))
