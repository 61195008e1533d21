"""Signatures of requests to hooks: those of GitHub, of Standard Webhooks, and a plain one.

| form | headers | what is signed |
|---|---|---|
| Standard Webhooks | `webhook-id`, `webhook-timestamp`, `webhook-signature` | `id.timestamp.body`, base64 |
| GitHub | `X-Hub-Signature-256`, `X-GitHub-Delivery` | the body, hexadecimal |
| plain | `X-Signature`, `X-Delivery` | the body, hexadecimal |

All are HMAC with SHA-256. Sources:
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md and
https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping

PREFIX = "whsec_"
TOLERANCE = 300
"""Seconds by which the timestamp of Standard Webhooks may differ from the clock."""
MOST_SIGNATURES = 10
"""Signatures of one request that are compared; there are several while a sender changes its secret."""


def derived_secret(key: str, trigger: str, salt: str) -> str:
    """The secret of a trigger's hook, in the form of Standard Webhooks."""
    name = f"hook\0{trigger}\0{salt}".encode()
    return PREFIX + b64encode(hmac.digest(key.encode(), name, hashlib.sha256)).decode()


def delivery_id(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> str | None:
    """The id of the delivery, empty where its sender gave none; None where it is not signed with the secret.

    `headers`: by names in small letters.
    """
    if "webhook-signature" in headers:
        return _standard(secret, headers, body, now)
    for signature, delivery in (("x-hub-signature-256", "x-github-delivery"), ("x-signature", "x-delivery")):
        if signature in headers:
            expected = hmac.digest(secret.encode(), body, hashlib.sha256).hex()
            is_signed = _same(headers[signature].removeprefix("sha256="), expected)
            return headers.get(delivery, "") if is_signed else None
    return None


def _standard(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> str | None:
    delivery, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    is_number = moment.isascii() and moment.isdecimal() and len(moment) < 20
    if not delivery or not is_number or abs(int(moment) - now) > TOLERANCE:
        return None
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except NotBase64:
        return None
    content = f"{delivery}.{moment}.".encode() + body
    expected = "v1," + b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    given = headers["webhook-signature"].split()[:MOST_SIGNATURES]
    return delivery if any(_same(signature, expected) for signature in given) else None


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
