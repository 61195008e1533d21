"""What can be done with subscribed browsers. Every function raises `LogUnavailable`.

The address of a browser and its keys are in `push/ID.json` of the home, mode 600; the log has the rest.
"""

from __future__ import annotations

import hashlib
import re
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

import msgspec

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.features.push import events as e
from hermes_jobs.features.push.rules import Browsers, Subscribe, Unsubscribe
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from hermes_jobs.bootstrap import Application

VARIABLE = "PUSH_KEY"
USER = "user"
SERVICE = "service"
ENDPOINT = re.compile(r"https://[a-z0-9.-]+(:\d{1,5})?/[!-~]*", re.IGNORECASE)
MAX_ENDPOINT = 2_000
NOBODY = "No browser is subscribed: open the web pages in one, and press “Notify this browser”."
_making = threading.Lock()


class Subscription(msgspec.Struct, frozen=True):
    """What a browser gave: its address at the push service, its public key and its secret, in base64url."""

    endpoint: str
    p256dh: str
    auth: str


class BrowserView(msgspec.Struct, frozen=True, kw_only=True):
    """A subscribed browser as scripts see it. `service`: the host of its push service."""

    browser: str
    by: str
    service: str
    subscribed_at: str


def browsers(application: Application) -> tuple[BrowserView, ...]:
    """The subscribed browsers, in the order in which they subscribed."""
    state = application.engine().state(e.STREAM)
    assert isinstance(state, Browsers)
    return tuple(
        BrowserView(browser=each.browser, by=each.by, service=each.service, subscribed_at=iso(each.at))
        for each in state.browsers.values()
    )


def subscribe(application: Application, subscription: Subscription, by: str) -> str:
    """Notify the browser from now on; its id. Raises `Rejected`, kind `usage`."""
    _require_usable(application, subscription)
    browser = hashlib.sha256(subscription.endpoint.encode()).hexdigest()[:12]
    file = _file(application, browser)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    write_bytes(file, msgspec.json.encode(subscription))
    service = urlsplit(subscription.endpoint).netloc.lower()
    subscribed = e.BrowserSubscribed(browser=browser, by=by, service=service, at=application.clock.now())
    application.engine().change(Subscribe(subscribed=subscribed), "push subscribe")
    return browser


def unsubscribe(application: Application, browser: str, by: str) -> None:
    """Notify the browser no more, and forget its address. Raises `Rejected`, kind `unknown_browser`."""
    application.engine().change(Unsubscribe(browser=browser, by=by), "push remove")
    _file(application, browser).unlink(missing_ok=True)


def subscription(application: Application, browser: str) -> Subscription | None:
    """What the browser gave; None where this home has no file of it."""
    try:
        content = _file(application, browser).read_bytes()
        return msgspec.json.decode(content, type=described(Subscription))
    except (OSError, msgspec.MsgspecError):
        return None


def signing_key(application: Application, *, make: bool = False) -> EllipticCurvePrivateKey | None:
    """The key that signs for this home; `make` makes it where there is none. Raises `Misconfigured`."""
    from hermes_jobs.features.push.message import key_of, new_key, text_of
    from hermes_jobs.settings.env_file import set_secret
    from hermes_jobs.settings.sources import read_env_file

    settings = application.settings
    with _making:  # `.env` is read where this process started before the key was made
        text = settings.secrets.get(VARIABLE) or read_env_file(settings.paths.env_file).get(VARIABLE, "")
        if not text and make:
            text = text_of(new_key())
            set_secret(settings.paths.home, VARIABLE, text)
    try:
        return key_of(text) if text else None
    except ValueError as error:
        hint = "Remove it from .env: the next subscription makes another one."
        raise Misconfigured(f"{VARIABLE} is not a key of the curve P-256 in hex.", hint=hint) from error


def public_key(application: Application) -> str:
    """The home's public key for browsers, in base64url; made on first use. Raises `Misconfigured`."""
    from hermes_jobs.features.push.message import encoded, to_base64

    key = signing_key(application, make=True)
    assert key is not None
    return to_base64(encoded(key))


def _file(application: Application, browser: str) -> Path:
    return application.settings.paths.home / "push" / f"{browser}.json"


def require_public(application: Application, endpoint: str) -> None:
    """Raise `AddressRefused` for a host that is not on the Internet, unless `web.allow_private` is set.

    Behind a proxy, the proxy resolves names. A name that gets another address until it is connected to has to
    have a certificate there.
    """
    from hermes_jobs.system.addresses import AddressRefused, is_public, resolve

    address = urlsplit(endpoint)
    if application.settings.web.allow_private or "https" in getproxies():
        return
    for resolved in resolve(address.hostname or "", address.port or 443):
        if not is_public(resolved):
            raise AddressRefused(f"{address.hostname} is not at a public address.")


def _require_usable(application: Application, given: Subscription) -> None:
    """Raise `Rejected`, without the secrets, for what no browser gives."""
    from hermes_jobs.features.push.message import encrypted, from_base64, key_of
    from hermes_jobs.system.addresses import AddressRefused

    if len(given.endpoint) > MAX_ENDPOINT or not ENDPOINT.fullmatch(given.endpoint):
        raise Rejected("The address of a push service is an https URL.", kind="usage")
    try:
        require_public(application, given.endpoint)
        encrypted(b"", from_base64(given.p256dh), from_base64(given.auth), sender=key_of("1"), salt=bytes(16))
    except AddressRefused as error:
        raise Rejected(f"The push service is refused: {error}", kind="usage") from error
    except ValueError as error:
        raise Rejected("The keys of the subscription are not those of a browser.", kind="usage") from error
