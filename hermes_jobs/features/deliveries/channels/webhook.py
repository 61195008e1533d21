"""`webhook:URL`: the answer as a signed HTTP POST, in the form of the Standard Webhooks.

Three headers (https://www.standardwebhooks.com): `webhook-id` is the same at every attempt,
`webhook-timestamp` is in seconds, `webhook-signature` is `v1,` and the base64 of the HMAC-SHA256 of
`ID.TIMESTAMP.BODY`. The key is the secret's UTF-8 bytes; where it begins with `whsec_`, what follows in
base64.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from hashlib import sha256
from ssl import SSLContext

import msgspec

from hermes_jobs.features.deliveries.channel import ContentOf, Delivered, DeliveryError, nothing_of
from hermes_jobs.features.deliveries.events import WEBHOOK_SECRET as SECRET
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel.engine.coroutine import waited_for
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.system.clock import Clock

"""The variable, of the environment or `.env`, with the secret that signs deliveries."""

SECONDS = 30.0
RETRYABLE_STATUSES = frozenset({408, 425, 429})
"""Client errors that may be transient (RFC 9110, 8470, 6585)."""

MAX_FILES = 10_000_000
"""Bytes of all files of a delivery that are sent; others are named."""

_ENCODED = "whsec_"


class WebhookChannel:
    """Posts to URLs. Redirects are not followed: answers go only to the configured URL."""

    def __init__(
        self,
        secret: str | None,
        *,
        clock: Clock,
        seconds: float = SECONDS,
        content_of: ContentOf = nothing_of,
    ) -> None:
        self._content_of = content_of
        self._secret = secret
        self._clock = clock
        self._seconds = seconds

    def deliver(self, delivery: Delivery, address: str, cancel: Cancel) -> Delivered:
        """Post the answer. Raises `DeliveryError`, `StepInterrupted`."""
        assert delivery.requested is not None, f"{delivery.stream} was not requested"
        body = body_of(delivery.requested, self._content_of)
        sent_at = int(self._clock.now())
        headers = {
            "content-type": "application/json",
            "user-agent": "hermes-jobs",
            "webhook-id": delivery.id,
            "webhook-timestamp": str(sent_at),
            "webhook-signature": signature(self._key(), delivery.id, sent_at, body),
        }
        return Delivered(str(post(address, headers, body, cancel, self._clock, seconds=self._seconds)))

    def _key(self) -> bytes:
        if not self._secret:
            raise DeliveryError(
                f"Webhooks are signed, and this worker has no {SECRET}: set it in .env of its home."
            )
        if not self._secret.startswith(_ENCODED):
            return self._secret.encode()
        try:
            return base64.b64decode(self._secret.removeprefix(_ENCODED), validate=True)
        except binascii.Error as error:
            raise DeliveryError(f"What follows {_ENCODED} in {SECRET} is not base64.") from error


def post(
    url: str,
    headers: dict[str, str],
    body: bytes,
    cancel: Cancel,
    clock: Clock,
    *,
    seconds: float = SECONDS,
    name: str = "",
) -> int:
    """Post it; the status. `name`: how errors call a URL that is a secret.

    Raises `DeliveryError`, `StepInterrupted`.
    """
    from httpx2 import HTTPError, InvalidURL

    try:
        status, retry_after = waited_for(_post(url, headers, body), cancel, seconds)
    except TimeoutError as error:
        raise DeliveryError(f"{name or url} did not answer within {seconds:g} s.") from error
    except InvalidURL as error:
        raise DeliveryError(f"{name or url} is not a valid URL: {error}.", lasting=True) from error
    except HTTPError as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DeliveryError(f"{name or url} cannot be reached ({what}).") from error
    if not 200 <= status < 300:
        wait = retry_after_seconds(retry_after, clock.now())
        lasting = 300 <= status < 500 and status not in RETRYABLE_STATUSES
        raise DeliveryError(
            f"{name or url} answered {status}.", lasting=lasting, retry_after=wait, status=status
        )
    return status


async def _post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, str | None]:
    """The response's status and `Retry-After`; its body is not read."""
    from httpx2 import AsyncClient

    async with (
        AsyncClient(timeout=SECONDS, follow_redirects=False, verify=_trust()) as client,
        client.stream("POST", url, headers=headers, content=body) as response,
    ):
        return response.status_code, response.headers.get("retry-after")


@cache
def _trust() -> SSLContext:
    """The trusted certificates: reading them takes 0.1 s, once per process."""
    from httpx2 import create_ssl_context

    return create_ssl_context()


def body_of(requested: DeliveryRequested, content_of: ContentOf = nothing_of) -> bytes:
    """The JSON body, byte for byte the same at every attempt as long as its files are stored."""
    data = {
        name: getattr(requested, name) for name in ("delivery", "turn", "session", "source", "ok", "text")
    }
    if requested.attachments:
        data["files"] = list(_files(requested.attachments, content_of))
    return msgspec.json.encode({"type": "turn.completed" if requested.ok else "turn.failed", "data": data})


def _files(files: Iterable[Attachment], content_of: ContentOf) -> Iterator[dict[str, object]]:
    """What is said of each file, with its content in base64 as far as `MAX_FILES` reaches."""
    room = MAX_FILES
    for file in files:
        content = content_of(file.digest) if file.digest and file.size <= room else None
        room -= len(content or b"")
        yield {
            "file_name": file.file_name,
            "media_type": file.media_type,
            "size": file.size,
            "digest": file.digest or None,
            "content": None if content is None else base64.b64encode(content).decode(),
        }


def signature(key: bytes, delivery: str, sent_at: int, body: bytes) -> str:
    """The value of `webhook-signature`."""
    signed = hmac.new(key, f"{delivery}.{sent_at}.".encode() + body, sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def retry_after_seconds(retry_after: str | None, now: float) -> float | None:
    """The wait in `Retry-After` (RFC 9110: seconds or a date), in seconds from `now`; None without one."""
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - datetime.fromtimestamp(now, UTC).timestamp())
